package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // style, script and page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"headway/store"
	"headway/visit"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var page = template.Must(template.New("report").Funcs(template.FuncMap{"thousands": thousands}).Parse(pageHTML))

// hash is how a security policy names what it allows.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// view is what the page is made of.
type view struct {
	*Report
	Policy  string
	Style   template.CSS
	Script  template.JS
	Plots   []Plot
	Data    template.JS
	Sum     string
	Reasons []string
	When    string
	Took    string
}

// Write makes the page.
func (r *Report) Write(w io.Writer) error {
	data, err := tables(r.Tables)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	v := view{
		Report: r, Plots: r.Plots(), Sum: sumLine(r.Counts), Reasons: reasonLines(r.Counts),
		Policy: "default-src 'none'; style-src " + hash(pageCSS) + "; script-src " + hash(pageJS) + "; base-uri 'none'; form-action 'none'",
		Style:  template.CSS(pageCSS), Script: template.JS(pageJS), Data: data, //nolint:gosec // our own files, and JSON without < > and &
		When: r.Job.CreatedAt.UTC().Format("2006-01-02 15:04 UTC"),
	}
	var ran time.Duration
	for i := range r.Points {
		ran += r.Points[i].Ran
	}
	v.Took = ran.Round(time.Second).String()
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// tables are the rows as the script reads them. The encoder writes <, > and & as
// escapes, so that nothing a page said can end the element it stands in.
func tables(list []*Table) (template.JS, error) {
	type table struct {
		Columns []Column `json:"columns"`
		Rows    [][]any  `json:"rows"`
	}
	all := map[string]table{}
	for _, t := range list {
		rows := t.Rows
		if rows == nil {
			rows = [][]any{}
		}
		all[t.ID] = table{t.Columns, rows}
	}
	b, err := json.Marshal(all)
	return template.JS(b), err //nolint:gosec // see above
}

// sumLine is the sum of all outcomes.
func sumLine(c store.Counts) string {
	sums := map[visit.Outcome]int64{visit.Pending: c.Waiting}
	for e, n := range c.Ended {
		sums[e.Outcome] += n
	}
	var parts []string
	for _, o := range visit.Outcomes {
		if sums[o] > 0 {
			parts = append(parts, thousands(sums[o])+" "+string(o))
		}
	}
	return thousands(c.Seen()) + " seen = " + cmp.Or(strings.Join(parts, " + "), "0")
}

// reasonLines split outcomes by reason.
func reasonLines(c store.Counts) []string {
	by := map[visit.Outcome]map[visit.Reason]int64{}
	for e, n := range c.Ended {
		if e.Reason != "" {
			if by[e.Outcome] == nil {
				by[e.Outcome] = map[visit.Reason]int64{}
			}
			by[e.Outcome][e.Reason] += n
		}
	}
	var lines []string
	for _, o := range visit.Outcomes {
		if reasons := by[o]; len(reasons) > 0 {
			names := slices.SortedFunc(maps.Keys(reasons), func(a, b visit.Reason) int {
				return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
			})
			var parts []string
			for _, r := range names {
				parts = append(parts, thousands(reasons[r])+" "+string(r))
			}
			lines = append(lines, string(o)+": "+strings.Join(parts, ", "))
		}
	}
	return lines
}

// thousands is a number with its thousands apart.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
