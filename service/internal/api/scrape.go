package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"headway/answer"
	"headway/ask"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

const (
	// defaultScrape is how long a request for one page waits for it.
	defaultScrape = 30 * time.Second
	// scrapeLook is how often its job is looked at, in addition to its events.
	scrapeLook = time.Second
)

// ScrapeRequest asks for one page.
type ScrapeRequest struct {
	URL     string      `json:"url" minLength:"1" maxLength:"8192" doc:"The page: a URL, or a host such as example.com." example:"https://example.com/article"`
	As      []string    `json:"as,omitempty" maxItems:"3" enum:"text,markdown,links" doc:"What to return of it; default: text and markdown."`
	Timeout ask.Seconds `json:"timeout_seconds,omitempty" minimum:"1" maximum:"50" doc:"How long to wait for the page, including time in the queue; default: 30."`
}

// Scraped is one page and what it says.
type Scraped struct {
	Job      job.ID           `json:"job" doc:"The job that fetched the page."`
	State    job.State        `json:"state" doc:"The state of that job."`
	Page     *answer.URLRow   `json:"page,omitempty" doc:"How the page ended; after a redirect, the page it leads to."`
	Text     string           `json:"text,omitempty"`
	Markdown string           `json:"markdown,omitempty"`
	Links    []answer.LinkRow `json:"links,omitempty" doc:"The links from the page, at most 1,000."`
}

func (a *API) registerScrape() {
	scraped := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Scraped](), true, "Scraped")
	register(a, store.ScopeWrite, huma.Operation{
		OperationID: "scrape", Method: http.MethodPost, Path: "/v1/scrape", Tags: []string{"pages"}, Summary: "Fetch one page now and return what it says",
		Description: "This is a crawl of one page: it needs a place among the running jobs and a page of the quota, obeys robots.txt, and waits for the pace of the host. Its job is kept like any other. If the page was not fetched in time, the response is 202 with the job and its state; GET /v1/jobs/{job}/content has the page later.",
		Responses:   map[string]*huma.Response{"202": {Description: "Not fetched in time", Content: map[string]*huma.MediaType{"application/json": {Schema: scraped}}}},
	}, a.scrape, NoArchive, HostNotOwned, QuotaExhausted, TooManyStreams)
}

// ScrapeAnswer is the response to a scrape.
type ScrapeAnswer struct {
	Status int // 202 if the page was not fetched in time
	Body   Scraped
}

func (a *API) scrape(ctx context.Context, in *struct{ Body ScrapeRequest }) (*ScrapeAnswer, error) {
	wait := in.Body.Timeout.Duration()
	if wait == 0 {
		wait = defaultScrape
	}
	as := in.Body.As
	if len(as) == 0 {
		as = []string{"text", "markdown"}
	}
	texts := slices.DeleteFunc(slices.Clone(as), func(s string) bool { return s == "links" })
	links := slices.Contains(as, "links")
	request := JobRequest{ // only the seed, and where it redirects to, is in scope
		Seeds: []string{in.Body.URL}, Name: "scrape",
		JobSettings: JobSettings{Include: []string{"re:^$"}, Sitemaps: "off", Content: texts, Links: &links},
		Limits:      limit.Limits{Time: wait}.Fields(),
	}
	f := a.followers.join(callerOf(ctx).tenant())
	if f == nil {
		return nil, newProblem(TooManyStreams, "too many requests wait for pages or events on this server").retryAfter(aliveEvery)
	}
	defer a.followers.leave(f)
	view, err := a.createJob(ctx, &Creating[JobRequest]{Body: request})
	if err != nil {
		return nil, err
	}
	j, err := a.awaitEnd(ctx, f, view.ID, wait)
	if err != nil {
		return nil, err
	}
	out := &ScrapeAnswer{http.StatusOK, Scraped{Job: view.ID, State: j.State}}
	if !j.State.Ended() {
		out.Status = http.StatusAccepted
		return out, nil
	}
	return out, a.readScraped(ctx, &j, links, &out.Body)
}

// awaitEnd waits until a job has ended, or for some time.
func (a *API) awaitEnd(ctx context.Context, f *follower, id job.ID, wait time.Duration) (store.Job, error) {
	over := time.After(wait)
	look := time.NewTicker(scrapeLook)
	defer look.Stop()
	for {
		j, err := a.store.Job(ctx, id)
		if err != nil || j.State.Ended() {
			return j, err
		}
		select {
		case <-f.news:
		case <-look.C:
		case <-over:
			return j, nil
		case <-a.followers.stopped:
			return j, newProblem(Unavailable, "the server is stopping")
		case <-ctx.Done():
			return j, ctx.Err()
		}
	}
}

const (
	maxScraped      = 100   // URLs of a job for one page: the page and the redirects to it
	maxScrapedLinks = 1_000 // links of the page in a response
)

// readScraped reads the page of a job: the one that was fetched, or else the first.
func (a *API) readScraped(ctx context.Context, j *store.Job, links bool, out *Scraped) error {
	page, err := a.store.List(ctx, store.Query{Job: j.ID, Max: maxScraped})
	if err != nil || len(page.Entries) == 0 {
		return err
	}
	at := max(slices.IndexFunc(page.Entries, func(e store.Entry) bool { return e.Outcome == visit.Fetched }), 0)
	e := &page.Entries[at]
	row := answer.NewURLRow(e)
	out.Page = &row
	c, err := a.store.Content(ctx, j.ID, e.Item.URL)
	if err != nil {
		return err
	}
	if c != nil {
		out.Text, out.Markdown = c.Text, c.Markdown
	}
	if links {
		list, err := answer.ReadLinks(ctx, answer.LinkQuestion{Store: a.store, Job: j.ID, URL: e.Item.URL, Out: true, Max: maxScrapedLinks})
		if err != nil {
			return err
		}
		out.Links = list.Out.Links
	}
	return nil
}
