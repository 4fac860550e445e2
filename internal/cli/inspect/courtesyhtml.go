package inspect

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"headway/answer"
	"headway/ask"
)

//go:embed courtesy.html.tmpl
var receiptPage string

//go:embed courtesy.css
var receiptStyle string

// receiptTemplate escapes whatever it is given for the place it is put.
var receiptTemplate = template.Must(template.New("receipt").Funcs(template.FuncMap{
	"utc":      utc,
	"size":     sizeText,
	"answers":  func(x answer.Incident) string { return answersText(&x) },
	"order":    func(o answer.Order) string { return orderText(&o) },
	"reaction": func(x answer.Incident) string { return reaction(&x) },
}).Parse(receiptPage))

// receiptData is a receipt with what only a page has.
type receiptData struct {
	*answer.Receipt
	Style       template.CSS // our own file
	StyleHash   string       // the one style that a browser may apply
	Figures     []factRow
	WhoRows     []factRow
	DidRows     []factRow
	NoRobots    string
	Refused     []answer.Incident
	MoreRefused bool
	Plot        *pacePlot
}

// printReceiptHTML writes a receipt as one file that loads nothing.
func printReceiptHTML(w io.Writer, r *answer.Receipt) error {
	sum := sha256.Sum256([]byte(receiptStyle))
	refused := lastRows(r.Incidents)
	return receiptTemplate.Execute(w, receiptData{
		Receipt: r, Style: template.CSS(receiptStyle), StyleHash: "sha256-" + base64.StdEncoding.EncodeToString(sum[:]),
		Figures: receiptFigures(r), WhoRows: whoRows(r), DidRows: didRows(r), NoRobots: noRobots(r),
		Refused: refused, MoreRefused: len(refused) < len(r.Incidents), Plot: plotPace(r),
	})
}

// receiptFigures are the numbers a webmaster looks for first.
func receiptFigures(r *answer.Receipt) []factRow {
	gap := "–"
	if r.SmallestGap != nil {
		gap = fmt.Sprintf("%.3f s", r.SmallestGap.Duration().Seconds())
	}
	rows := []factRow{
		{"Requests", fmt.Sprint(r.Requests)},
		{"Peak concurrency", fmt.Sprint(r.PeakConcurrency)},
		{"Smallest interval", gap},
		{"Busiest minute", fmt.Sprint(r.BusiestMinute)},
		{"Refusals", fmt.Sprint(r.Refusals)},
	}
	if r.Refusals > 0 {
		return append(rows, factRow{"In Retry-After", fmt.Sprint(r.SentInside)})
	}
	return append(rows, factRow{"Not requested", fmt.Sprint(r.Disallowed)})
}

// pacePlot is a line of steps.
type pacePlot struct {
	Width, Height int
	Points        string
	Refusals      []string // places along the line of time
	From, To      string
	Label         string
}

// Size of a plot in its own units.
const (
	plotWidth  = 1000
	plotHeight = 160
	plotRoom   = 12 // above the slowest pace, for the marks of refusals
)

// plotPace draws how the pace changed; nil where it never did.
func plotPace(r *answer.Receipt) *pacePlot {
	if len(r.PaceChanges) == 0 || !r.To.After(r.From) {
		return nil
	}
	first, last := r.From, r.To
	var highest ask.Seconds
	for _, c := range r.PaceChanges {
		highest = max(highest, c.From, c.To)
		if c.At.Before(first) {
			first = c.At
		}
		if c.At.After(last) {
			last = c.At
		}
	}
	x := func(t time.Time) string {
		return fmt.Sprintf("%.1f", plotWidth*float64(t.Sub(first))/float64(last.Sub(first)))
	}
	y := func(d ask.Seconds) string {
		return fmt.Sprintf("%.1f", plotHeight-(plotHeight-plotRoom)*float64(d)/float64(max(highest, 1)))
	}
	points := []string{"0," + y(r.PaceChanges[0].From)}
	for _, c := range r.PaceChanges {
		points = append(points, x(c.At)+","+y(c.From), x(c.At)+","+y(c.To))
	}
	points = append(points, fmt.Sprintf("%d,%s", plotWidth, y(r.PaceChanges[len(r.PaceChanges)-1].To)))
	p := &pacePlot{
		Width: plotWidth, Height: plotHeight, Points: strings.Join(points, " "), From: utc(first), To: utc(last),
		Label: fmt.Sprintf("seconds between requests, up to %s; marks at the top show refusals", paceText(highest)),
	}
	for _, x429 := range r.RefusalList {
		if !x429.At.Before(first) && !x429.At.After(last) {
			p.Refusals = append(p.Refusals, x(x429.At))
		}
	}
	return p
}
