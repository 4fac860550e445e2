package robots

import (
	"strconv"
	"strings"
	"time"
)

// Directives are a page's meta robots elements and X-Robots-Tag headers. The zero value
// has none. NoFollow stops the crawler from following the page's links; the others are
// recorded for users of the page.
type Directives struct {
	NoIndex          bool
	NoFollow         bool
	NoArchive        bool // also written nocache
	NoSnippet        bool
	NoImageIndex     bool
	NoTranslate      bool
	NoAI             bool // an AI-use signal: recorded, never changes fetching
	NoImageAI        bool // likewise
	MaxSnippet       Limit
	MaxVideoPreview  Limit
	MaxImagePreview  ImagePreview
	UnavailableAfter time.Time
}

// Limit is an upper limit that may be absent.
type Limit struct {
	Set bool
	Max int
}

// strictest returns the lower of two limits.
func (l Limit) strictest(o Limit) Limit {
	if !l.Set || o.Set && o.Max < l.Max {
		return o
	}
	return l
}

// ImagePreview is the largest preview of an image that may be shown; "" and
// PreviewLarge set no limit.
type ImagePreview string

// The sizes of image previews, strictest first.
const (
	PreviewNone     ImagePreview = "none"
	PreviewStandard ImagePreview = "standard"
	PreviewLarge    ImagePreview = "large"
)

func (p ImagePreview) strictest(o ImagePreview) ImagePreview {
	for _, size := range []ImagePreview{PreviewNone, PreviewStandard, PreviewLarge} {
		if p == size || o == size {
			return size
		}
	}
	return ""
}

// Merge returns the strictest combination of both.
func (d Directives) Merge(o Directives) Directives {
	d.NoIndex = d.NoIndex || o.NoIndex
	d.NoFollow = d.NoFollow || o.NoFollow
	d.NoArchive = d.NoArchive || o.NoArchive
	d.NoSnippet = d.NoSnippet || o.NoSnippet
	d.NoImageIndex = d.NoImageIndex || o.NoImageIndex
	d.NoTranslate = d.NoTranslate || o.NoTranslate
	d.NoAI = d.NoAI || o.NoAI
	d.NoImageAI = d.NoImageAI || o.NoImageAI
	d.MaxSnippet = d.MaxSnippet.strictest(o.MaxSnippet)
	d.MaxVideoPreview = d.MaxVideoPreview.strictest(o.MaxVideoPreview)
	d.MaxImagePreview = d.MaxImagePreview.strictest(o.MaxImagePreview)
	if d.UnavailableAfter.IsZero() || !o.UnavailableAfter.IsZero() && o.UnavailableAfter.Before(d.UnavailableAfter) {
		d.UnavailableAfter = o.UnavailableAfter
	}
	return d
}

// AIUse returns the directives that are used as AI-use signals, separated by commas, and
// their stance on training. noarchive keeps a page out of the answers of Bing; it says
// nothing about training.
func (d Directives) AIUse() (words string, training Stance) {
	training = Unstated
	var list []string
	if d.NoAI {
		list, training = append(list, "noai"), Refuses
	}
	if d.NoImageAI {
		list = append(list, "noimageai")
	}
	if d.NoArchive {
		list = append(list, "noarchive")
	}
	return strings.Join(list, ", "), training
}

// Indexable reports whether the page may be shown in an index at a time.
func (d Directives) Indexable(now time.Time) bool {
	return !d.NoIndex && (d.UnavailableAfter.IsZero() || now.Before(d.UnavailableAfter))
}

// ParseMeta reads a meta element for an agent. Elements not named "robots" or after our
// product token are ignored. Combine several elements with [Directives.Merge].
func ParseMeta(agent, name, content string) Directives {
	if !appliesTo(agent, strings.TrimSpace(name)) {
		return Directives{}
	}
	var d Directives
	items := splitItems(content)
	for i := 0; i < len(items); i++ {
		i += d.read(items[i:])
	}
	return d
}

// ParseHeader reads the X-Robots-Tag header lines of a response for an agent and merges
// them. A bot's name and a colon limit the rest of the line to that bot, up to the next
// such name.
func ParseHeader(agent string, lines ...string) Directives {
	var d Directives
	for _, line := range lines {
		ours := true
		items := splitItems(line)
		for i := 0; i < len(items); i++ {
			if bot, rest, ok := cutBot(items[i]); ok {
				ours = appliesTo(agent, bot)
				items[i] = rest
			}
			var item Directives
			i += item.read(items[i:])
			if ours {
				d = d.Merge(item)
			}
		}
	}
	return d
}

// splitItems splits at commas. A date contains commas too; see read.
func splitItems(s string) []string {
	items := strings.Split(s, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// cutBot splits "bot: rest". Directives with a value have the same form and are
// recognised by name.
func cutBot(item string) (bot, rest string, ok bool) {
	bot, rest, ok = strings.Cut(item, ":")
	bot = strings.TrimSpace(bot)
	if !ok || bot == "" || strings.ContainsAny(bot, " \t;") {
		return "", item, false
	}
	switch strings.ToLower(bot) {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return "", item, false
	}
	return bot, strings.TrimSpace(rest), true
}

// appliesTo reports whether a name means the agent: "robots", "*" or its token.
func appliesTo(agent, name string) bool {
	if strings.EqualFold(name, "robots") || name == everyone {
		return true
	}
	token := productToken(agent)
	return token != "" && compareFold(productToken(name), token) == 0
}

// read reads the first item and returns how many more belong to it.
func (d *Directives) read(items []string) (more int) {
	name, value, ok := strings.Cut(items[0], ":")
	if !ok {
		for word := range strings.FieldsFuncSeq(items[0], isSeparator) {
			d.readWord(word)
		}
		return 0
	}
	value = strings.TrimSpace(value)
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "max-snippet":
		d.MaxSnippet = d.MaxSnippet.strictest(readLimit(value))
	case "max-video-preview":
		d.MaxVideoPreview = d.MaxVideoPreview.strictest(readLimit(value))
	case "max-image-preview":
		d.MaxImagePreview = d.MaxImagePreview.strictest(ImagePreview(strings.ToLower(value)))
	case "unavailable_after":
		at, more, ok := readDate(value, items[1:])
		if ok {
			*d = d.Merge(Directives{UnavailableAfter: at})
		}
		return more
	}
	return 0
}

// isSeparator accepts spaces and semicolons for missing commas.
func isSeparator(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == ';' }

func (d *Directives) readWord(word string) {
	switch strings.ToLower(word) {
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "noarchive", "nocache":
		d.NoArchive = true
	case "nosnippet":
		d.NoSnippet = true
	case "noimageindex":
		d.NoImageIndex = true
	case "notranslate":
		d.NoTranslate = true
	case "noai":
		d.NoAI = true
	case "noimageai":
		d.NoImageAI = true
	}
}

// readLimit reads a count; -1 or an invalid count means no limit.
func readLimit(value string) Limit {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return Limit{}
	}
	return Limit{Set: true, Max: n}
}

// dateForms are the date formats found in unavailable_after: RFC 822 with its
// successors, RFC 850, and ISO 8601.
var dateForms = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05", "2006-01-02",
	time.RFC1123, time.RFC1123Z, "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
	"2 Jan 2006 15:04:05", "2 Jan 2006", "2-Jan-2006 15:04:05 MST", "2-Jan-2006", time.RFC850, time.RFC822, time.RFC822Z,
	"Jan 2, 2006 15:04:05 MST", "Jan 2, 2006", time.ANSIC,
}

// usZones are the zone names of RFC 822 other than UT and GMT.
var usZones = map[string]time.Duration{
	"EST": -5 * time.Hour, "EDT": -4 * time.Hour, "CST": -6 * time.Hour, "CDT": -5 * time.Hour,
	"MST": -7 * time.Hour, "MDT": -6 * time.Hour, "PST": -8 * time.Hour, "PDT": -7 * time.Hour,
}

// maxDateCommas is how many commas a date may hold.
const maxDateCommas = 2

// readDate reads a date that may have been split at its commas, using as few of the
// following items as possible.
func readDate(value string, following []string) (at time.Time, more int, ok bool) {
	for more = 0; ; more++ {
		for _, form := range dateForms {
			t, err := time.Parse(form, value)
			if err != nil {
				continue
			}
			zone, _ := t.Zone()
			return t.Add(-usZones[zone]).UTC(), more, true
		}
		if more == maxDateCommas || more == len(following) {
			return time.Time{}, 0, false
		}
		value += ", " + following[more]
	}
}
