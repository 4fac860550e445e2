package doccheck

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

const moduleRoot = "../.."

// ours is the catalogue of the module, read once: parsing all tests takes a while.
var ours = sync.OnceValues(func() (*catalogue, error) { return newCatalogue(os.DirFS(moduleRoot)) })

// TestSourceDocuments checks the page that maps the source documents to the product:
// each setting, flag, test and decision it names exists, no row is without one, and
// nothing that the documents name is missing.
func TestSourceDocuments(t *testing.T) {
	c, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(c.root, "docs/source-documents.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	rows, problems := readRows(page)
	for _, p := range problems {
		t.Error(p)
	}
	var says strings.Builder
	for _, r := range rows {
		for _, p := range c.check(r) {
			t.Error(p)
		}
		says.WriteString(r.says + "\n")
	}
	for _, name := range named {
		if !strings.Contains(says.String(), name) {
			t.Errorf("nothing is said about %s", name)
		}
	}
	if m := quoted.FindString(page); m != "" {
		t.Errorf("%q: the documents' sessions and lines are not quoted", m)
	}
}

// quoted finds references into the documents or into the code they were about.
var quoted = regexp.MustCompile(`(?i)session #\d+|\w+\.(rs|ts|go):\d+|\blines? ~?\d+`)

// named is every constant, variable, flag and message that the documents name, so that
// no row gets lost.
var named = []string{
	// Global safety limits
	"MAX_PAGES_PER_CRAWL", "MAX_CONCURRENT_CRAWLS", "CRAWL_TIMEOUT_MS", "applySafetyCaps", "acquireCrawlSlot",
	"Safety limit: Maximum 50 pages per crawl (requested: X)", "Safety limit: Crawl timeout exceeded (60000ms)", "success: false",
	"[crawlWorkerV1]",
	// Crawl politeness integration
	"MAX_PAGES=200", "MAX_SCAN_TIME_MINUTES=60", "USER_AGENT=AEO-Audit/1.0", "maxConcurrent: 2", "host_concurrency:", "ttlSeconds: 300",
	"minDelayMs: 200", "maxDelayMs: 500", "host_delay:", "robots_allowed", "blocked_by_robots", "matchedRule", "crawlDelay",
	"isUrlAllowedByRobots", "Timeout waiting for host concurrency slot",
	// Per-domain rate limiting
	"Parallelism: 10", "RandomDelay: 333ms", "applyCrawlDelay", "Parallelism: 2", "RandomDelay: 500ms", "Delay: 1s", "everlane.com",
	"shopify.com", "bigcommerce.com", "domainSemaphores", "acquireDomainSlot", "maxConcurrent := 10", "maxBackoff := 60s", "isBlockingError",
	"Failed to set domain limit", "Failed to set global limit", "Blocking error detected", "Blocking error - applying exponential backoff",
	"Test case 1", "Test case 2", "Test case 3",
	// Concurrency architecture
	"max_workers", "--workers", "MAX_INFLIGHT", "GLOBAL_FRONTIER_SIZE_LIMIT", "crawl_delay_secs", "backoff_until_secs",
	"10 consecutive failures", "False positive rate", "parse_sema", "ROBOTS_FETCH_SEMAPHORE_LIMIT", "FP_CHECK_SEMAPHORE_LIMIT",
	"READY_HEAP_SIZE_LIMIT", "dropping host", "rendezvous", "save_interval", "SHUTDOWN_GRACE_PERIOD_SECS", "sitemap.jsonl",
	"GRACEFUL SHUTDOWN: Crawl Complete", "Reached max_urls limit", "Reached duration limit", "Waiting for work...",
	"--start-url", "--max-urls", "--duration", "--timeout", "--data-dir", "--seeding-strategy", "--enable-redis", "--redis-url",
	"--ignore-robots", "THROTTLE_THRESHOLD_MS", "[BLOCKED] Permanently skipping", "MAX_ATTEMPTS", "MAX_INFLIGHT_PER_HOST",
	"PARSE_SEMAPHORE_LIMIT", "GOVERNOR_ENABLED", "METRIC_EXPORT_INTERVAL_SECS", "GPU",
	// Domain rate limiter
	"error_streak", "success_streak", "adaptive_delay", "delay_floor", "next_available", "last_success", "adaptive_delay_seconds",
	"adaptive_delay_floor_seconds", "BBB_JOB_FAILURE_THRESHOLD", "jobConcurrencyOverrides", "Wait(ctx, jobID, domain, baseDelay)",
	"RecordSuccess", "Record429", "Persist",
}

// TestCheckFinds: the check reports mistakes.
func TestCheckFinds(t *testing.T) {
	c, err := newCatalogue(fstest.MapFS{
		"a/a_test.go":              {Data: []byte("package a\nfunc TestReal() {}\nfunc (x T) TestMethod() {}\n")},
		"a/testdata/dusk.txtar":    {},
		"a/testdata/t_test.go":     {Data: []byte("package t\nfunc TestHidden() {}\n")},
		"root_test.go":             {Data: []byte("package headway_test\nfunc TestRoot() {}\n")},
		"docs/adr/0099-a-thing.md": {},
	})
	if err != nil {
		t.Fatal(err)
	}
	const head = "| it says | Headway | set by | shown by |\n|---|---|---|---|\n"
	for name, tc := range map[string]struct{ page, want string }{
		"all there": {head + "| x | y | `max_pages`, `--max-pages`, `HEADWAY_MAX_PAGES`, `preset warm`, `check --junit`, `max_concurrent_crawls` | " +
			"`a.TestReal`, `a.TestReal(dusk)`, `headway.TestRoot`, [0099](adr/0099-a-thing.md), comes with the fleet |\n", ""},
		"nothing to set":     {head + "| x | y | nothing | comes with the service |\n", ""},
		"unknown setting":    {head + "| x | y | `max_fun` | `a.TestReal` |\n", `no setting "max_fun"`},
		"unknown preset":     {head + "| x | y | `preset rude` | `a.TestReal` |\n", `no setting "preset rude"`},
		"unknown flag":       {head + "| x | y | `--max-fun` | `a.TestReal` |\n", "crawl has no flag --max-fun"},
		"another's flag":     {head + "| x | y | `--junit` | `a.TestReal` |\n", "crawl has no flag --junit"},
		"no setting named":   {head + "| x | y | a knob | `a.TestReal` |\n", `set by "a knob"`},
		"empty setting":      {head + "| x | y |  | `a.TestReal` |\n", `set by ""`},
		"unknown test":       {head + "| x | y | fixed | `a.TestGone` |\n", "a has no TestGone"},
		"method":             {head + "| x | y | fixed | `a.TestMethod` |\n", "a has no TestMethod"},
		"test of testdata":   {head + "| x | y | fixed | `a/testdata.TestHidden` |\n", "has no TestHidden"},
		"another package":    {head + "| x | y | fixed | `b.TestReal` |\n", "b has no TestReal"},
		"unknown scenario":   {head + "| x | y | fixed | `a.TestReal(dawn)` |\n", "no dawn.txtar"},
		"no test":            {head + "| x | y | fixed | `a.Real` |\n", "does not read as a test"},
		"unknown decision":   {head + "| x | y | fixed | [0098](adr/0098-no-thing.md) |\n", "no decision"},
		"mislabelled":        {head + "| x | y | fixed | [0098](adr/0099-a-thing.md) |\n", "not decision 0098"},
		"neither":            {head + "| x | y | fixed |  |\n", `shown by ""`},
		"promise":            {head + "| x | y | fixed | comes some day |\n", "comes some day"},
		"one of two missing": {head + "| x | y | fixed | `a.TestReal`, `a.TestGone` |\n", "a has no TestGone"},
		"says nothing":       {head + "|  | y | fixed | `a.TestReal` |\n", "says nothing"},
		"other table":        {"| x | y |\n|---|---|\n", "a table that begins"},
		"three cells":        {head + "| x | y | fixed |\n", "3 cells"},
	} {
		t.Run(name, func(t *testing.T) {
			rows, problems := readRows(tc.page)
			for _, r := range rows {
				problems = append(problems, c.check(r)...)
			}
			got := strings.Join(problems, "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	for _, text := range []string{"see frontier.rs:671", "Session #28", "(Line ~36)", "worker.ts:12"} {
		if !quoted.MatchString(text) {
			t.Errorf("%q passes", text)
		}
	}
}
