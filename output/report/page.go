package report

import (
	"crypto/sha256"
	_ "embed" // style, script and page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"headway/answer"
	"headway/internal/humanize"
	"headway/job"
	"headway/visit"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var page = template.Must(template.New("report").Funcs(template.FuncMap{"count": humanize.Count}).Parse(pageHTML))

// hash is the form in which a security policy names a script or style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Policy is the Content-Security-Policy of the page, which has it as a meta element, too: only
// its own script and style, and no request.
func Policy() string {
	return "default-src 'none'; style-src " + hash(pageCSS) + "; script-src " + hash(pageJS) + "; base-uri 'none'; form-action 'none'"
}

// view is the data of the page template.
type view struct {
	*Report
	Policy    string
	Style     template.CSS
	Script    template.JS
	Data      template.JS
	State     string // in a sentence
	When      string
	Sum       string
	Tiles     []Tile
	Plots     []Plot
	SincePlot Plot
	SinceLine string
	Full      []*Table // with rows
	Empty     string   // the names of those without
}

// Tile is a key number at the top.
type Tile struct {
	Name, Value string
	Alarm       bool
}

// minute is the time format.
const minute = "2006-01-02 15:04 UTC"

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	v := view{
		Report: r, Plots: r.Plots(), Tiles: r.tiles(), Sum: sumLine(r), State: stateWords[r.Job.State], When: r.when(),
		Policy: Policy(),
		Style:  template.CSS(pageCSS), Script: template.JS(pageJS), //nolint:gosec // our own files
	}
	var empty []string
	for _, t := range r.Tables {
		if len(t.Rows) > 0 {
			v.Full = append(v.Full, t)
		} else {
			empty = append(empty, t.Title)
		}
	}
	v.Empty = strings.Join(empty, " · ")
	shown := v.Full
	if r.Changes != nil {
		v.SincePlot, v.SinceLine = since(r.Since), sinceLine(r.Since)
		shown = append([]*Table{r.Changes}, shown...)
	}
	var err error
	if v.Data, err = rowsOf(shown); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// stateWords say what a state means for the reader.
var stateWords = map[job.State]string{
	job.Queued: "not started", job.Running: "still running when this report was created", answer.Interrupted: "interrupted; run the same command to resume", job.Paused: "paused when this report was created",
	job.Draining: "stopping when this report was created", job.Complete: "crawl finished", job.Partial: "stopped with URLs left",
	job.Blocked: "robots.txt or challenge pages block everything", job.Cancelled: "stopped on request", job.Failed: "no host could be reached, or an error stopped the crawl",
}

// ran is how long the crawl ran.
func (r *Report) ran() time.Duration {
	var ran time.Duration
	for i := range r.Points {
		ran += r.Points[i].Ran
	}
	return ran
}

// when says when the crawl was and how long it took.
func (r *Report) when() string {
	text := "started " + r.Job.CreatedAt.UTC().Format(minute)
	if ran := r.ran(); ran > 0 {
		text += ", ran " + ran.Round(time.Second).String()
	}
	return text
}

// tiles are the key numbers at the top.
func (r *Report) tiles() []Tile {
	by := map[visit.Outcome]int64{}
	for _, s := range humanize.Sums(r.Counts) {
		by[s.Outcome] = s.N
	}
	var requests, bytes int64
	for i := range r.Points {
		requests += r.Points[i].Requests
		bytes += r.Points[i].Bytes
	}
	pages, failed := by[visit.Fetched]+by[visit.NotModified], by[visit.Failed]+by[visit.ServerError]
	list := []Tile{
		{Name: "pages", Value: humanize.Count(pages)},
		{Name: "dead", Value: humanize.Count(by[visit.Dead]), Alarm: by[visit.Dead] > 0},
		{Name: "failed", Value: humanize.Count(failed), Alarm: failed > 0},
		{Name: "throttled, not dead", Value: humanize.Count(by[visit.Throttled])},
		{Name: "blocked", Value: humanize.Count(by[visit.Blocked])},
	}
	if requests > 0 {
		list = append(list, Tile{Name: "requests", Value: humanize.Count(requests)}, Tile{Name: "received", Value: humanize.Size(bytes)})
	}
	if ran := r.ran(); ran > 0 {
		list = append(list, Tile{Name: "pages per second", Value: number(float64(pages) / ran.Seconds())})
	}
	return list
}

// sumLine is the sum of all outcomes.
func sumLine(r *Report) string {
	var parts []string
	for _, s := range humanize.Sums(r.Counts) {
		parts = append(parts, humanize.Count(s.N)+" "+string(s.Outcome))
	}
	if len(parts) == 0 {
		return "Nothing was seen."
	}
	return humanize.Plural(r.Counts.Seen(), "URL") + " seen = " + strings.Join(parts, " + ")
}

// rowsOf are the tables as read by the script. The encoder escapes <, > and &, so that text
// from pages cannot end the script element.
func rowsOf(list []*Table) (template.JS, error) {
	type table struct {
		Columns []Column `json:"columns"`
		Rows    [][]any  `json:"rows"`
	}
	all := map[string]table{}
	for _, t := range list {
		all[t.ID] = table{t.Columns, t.Rows}
	}
	b, err := json.Marshal(all)
	return template.JS(b), err //nolint:gosec // see above
}
