package inspect

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"headway/content"
	"headway/internal/cli/command"
	"headway/visit"
)

// contentFlags are the flags of `headway fetch` that print what a page says instead of
// how it was fetched.
type contentFlags struct{ text, markdown bool }

func (f contentFlags) options() content.Options {
	return content.Options{Text: f.text, Markdown: f.markdown}
}

// alone reports whether the content is all that is printed.
func (f *fetchFlags) alone() bool {
	return (f.content.text || f.content.markdown || f.extract != "") && !f.asJSON
}

// checkContent refuses combinations of which only one could be printed.
func (f *fetchFlags) checkContent() error {
	switch {
	case !f.alone():
		return nil
	case f.extract != "" && (f.content.text || f.content.markdown):
		return command.Usage(errors.New("--extract prints only the fields"), "add --json to get the main text as well")
	case f.content.text && f.content.markdown:
		return command.Usage(errors.New("--text and --markdown were both given"), "choose one, or add --json to get both")
	case f.extract != "" && (f.headers || f.links):
		return command.Usage(errors.New("--extract prints only the fields"), "add --json to get headers and links as well")
	case f.headers || f.links:
		return command.Usage(errors.New("--text and --markdown print only the main text"), "add --json to get headers and links as well")
	}
	return nil
}

// printContent prints the main text of a page. If there is none, the reason goes to the
// stream for messages.
func (f *fetchFlags) printContent(out, messages io.Writer, v visit.Visit) error {
	text := ""
	if c := v.Page.Content; c != nil && v.Outcome == visit.Fetched {
		text = c.Text
		if f.content.markdown {
			text = c.Markdown
		}
	}
	if text = command.Printable(text); text != "" {
		_, err := fmt.Fprintln(out, strings.TrimRight(text, "\n"))
		if err == nil && v.Page.Content.Cut {
			_, err = fmt.Fprintf(messages, "headway: warning: a part of the main text is missing: %s is too long or too deeply nested\n", visit.Redact(v.Item.URL))
		}
		return err
	}
	reason, hint := noContent(v)
	return printNone(messages, v, "main text", reason, hint)
}

// printNone says why a page has nothing of a kind.
func printNone(messages io.Writer, v visit.Visit, what, reason, hint string) error {
	level := "error"
	if lookCode(v) == command.ExitOK {
		level = "warning"
	}
	_, err := fmt.Fprintf(messages, "headway: %s: no %s at %s: %s\n", level, what, visit.Redact(v.Item.URL), command.OneLine(reason))
	if err == nil && hint != "" {
		_, err = fmt.Fprintf(messages, "headway: hint: %s\n", command.OneLine(hint))
	}
	return err
}

// noContent says why there is no main text, and what to do.
func noContent(v visit.Visit) (reason, hint string) {
	switch {
	case v.Outcome == visit.Redirected:
		target := visit.Redact(v.Answer.Location)
		return "it redirects to " + target, "fetch " + target + " instead"
	case v.Outcome != visit.Fetched:
		return verdict(v), nextSentence(v)
	case v.Page.Charset == "": // only HTML is decoded
		return "it is not an HTML page (" + v.Answer.ContentType + ")", ""
	default:
		return "the page has none", ""
	}
}
