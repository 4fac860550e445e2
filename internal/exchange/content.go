package exchange

import (
	"fmt"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"headway/content"
	"headway/extract"
	"headway/parse"
	"headway/visit"
)

// contentOf returns what a fetched HTML page says; nil for other responses. It is called
// where the body is parsed, when there is capacity.
func contentOf(r *reading, text content.Reader, o content.Options, rules *extract.Rules) *visit.Content {
	body := r.page.Body
	r.page.Body = nil // it may be the buffer of the response
	if r.parseErr != nil || !isFetched(r.res) || r.page.Type != parse.TypeHTML || !r.page.Challenge.IsZero() {
		return nil
	}
	defer func() {
		if v := recover(); v != nil { // it ends this page, like a panic of the parser
			r.parseErr = &parse.PanicError{URL: r.res.URL, Value: v, Stack: debug.Stack()}
		}
	}()
	var is visit.Content
	if o != (content.Options{}) {
		page, _ := text.Page(r.res.URL, o)
		is = textsOf(page)
	}
	if rules.Apply(r.res.URL) {
		is.Fields, is.FieldProblems = objectsOf(rules.Extract(extract.Page{URL: r.res.URL, Base: r.page.Base, HTML: body}))
	}
	if is == (visit.Content{}) {
		return nil
	}
	return &is
}

// objectsOf returns the values of fields and their problems. No page may have more than
// can be stored: such values are left out.
func objectsOf(fields []extract.Field) (values, problems visit.Object) {
	values, problems = visit.Object(extract.JSON(fields)), visit.Object(extract.Problems(fields))
	if len(values)+len(problems) <= visit.MaxText {
		return values, problems
	}
	for i := range fields {
		fields[i].Values = nil
		fields[i].Problem = fmt.Sprintf("left out: the fields of the page have more than %d bytes", visit.MaxText)
	}
	return "", visit.Object(extract.Problems(fields))
}

// textsOf is the main text of a page.
func textsOf(page content.Page) visit.Content {
	is := visit.Content{Author: page.Author, Published: page.Published, Words: page.Words, Cut: page.Cut}
	var cutText, cutMarkdown bool
	is.Text, cutText = cut(page.Text)
	is.Markdown, cutMarkdown = cut(page.Markdown)
	is.Cut = is.Cut || cutText || cutMarkdown
	if !page.Digest.IsZero() {
		is.Digest = page.Digest.String()
	}
	return is
}

// cut shortens a text to [visit.MaxText], between two characters.
func cut(text string) (string, bool) {
	if len(text) <= visit.MaxText {
		return text, false
	}
	end := visit.MaxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.Clone(text[:end]), true
}
