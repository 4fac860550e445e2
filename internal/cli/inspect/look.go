package inspect

import (
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"headway/fetch/guard"
	"headway/internal/cli/command"
	"headway/robots"
	"headway/visit"
	"headway/visitor"
)

// printLook shows one visit to a person, within 80 columns where the web
// allows it.
func printLook(w io.Writer, look visitor.Look, headers, links bool) error {
	v := look.Visit
	fmt.Fprintf(w, "%s\n%s\n\n", visit.Redact(v.Item.URL), verdict(v))
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%-9s %s\n", name, command.OneLine(text))
		}
	}
	row("robots", robotsSentence(look.Robots))
	if look.Waited >= time.Millisecond {
		row("pace", "waited "+command.RoundTime(look.Waited)+" after robots.txt")
	}
	row("reaction", look.Reaction)
	row("answer", answerSentence(v.Answer))
	if !v.Answer.Location.IsZero() {
		row("location", visit.Redact(v.Answer.Location))
	}
	row("timing", timingSentence(v.Timing))
	row("body", bodySentence(v.Answer))
	row("title", v.Page.Title)
	row("about", command.Shorten(v.Page.Description, 200))
	row("language", v.Page.Language)
	if c := v.Page.Canonical; !c.IsZero() && c != v.Item.URL {
		row("canonical", visit.Redact(c))
	}
	row("directive", strings.Join(v.Page.Robots, "; "))
	if v.Outcome == visit.Fetched {
		row("links", linksSentence(v.Links))
	}
	for _, e := range v.Evidence {
		row("evidence", evidenceSentence(e))
	}
	row("next", nextSentence(v))
	if headers && len(look.Header) > 0 {
		fmt.Fprintln(w)
		for _, name := range slices.Sorted(maps.Keys(look.Header)) {
			for _, value := range look.Header[name] {
				fmt.Fprintf(w, "%s: %s\n", name, command.OneLine(value))
			}
		}
	}
	if links && len(v.Links) > 0 {
		fmt.Fprintln(w)
		for _, l := range v.Links {
			mark := ""
			if l.Nofollow {
				mark = "  (nofollow)"
			}
			fmt.Fprintf(w, "%-8s %s%s\n", l.Kind, visit.Redact(l.URL), mark)
		}
	}
	return nil
}

// verdict is the outcome in one line.
func verdict(v visit.Visit) string {
	text := string(v.Outcome)
	if v.Reason != "" {
		text += ": " + string(v.Reason)
	}
	if v.Detail != "" {
		text += " (" + command.Shorten(command.OneLine(v.Detail), 300) + ")"
	}
	return text
}

// robotsSentence says what robots.txt had to do with it.
func robotsSentence(r visitor.RobotsLook) string {
	if r.Ignored {
		return "ignored with the host owner's permission"
	}
	d := r.Decision
	if d.Reason == "" {
		return "" // nobody was there to ask
	}
	word := "allowed"
	if !d.Allowed {
		word = "blocked"
	}
	var why string
	switch d.Reason {
	case robots.NoRule:
		why = "no rule matches"
	case robots.NoFile:
		why = "the host has no robots.txt"
	case robots.RobotsFile:
		why = "robots.txt itself is always allowed"
	case robots.Unreachable:
		why = "robots.txt is unreachable, so nothing is fetched"
	case robots.Unreadable:
		why = "robots.txt is unreachable; the preset allows crawling anyway"
	case robots.DelayTooLong:
		why = fmt.Sprintf("Crawl-delay of %v exceeds the maximum of %v", d.Delay, robots.MaxDelay)
	default:
		why = fmt.Sprintf("line %d, %s", d.Line, d.Rule)
	}
	text := word + ": " + why
	var facts []string
	if d.Group != "" {
		facts = append(facts, "group "+d.Group)
	}
	if d.Delayed && d.Reason != robots.DelayTooLong {
		facts = append(facts, fmt.Sprintf("Crawl-delay %v", d.Delay))
	}
	if r.Err != nil {
		facts = append(facts, command.Shorten(r.Err.Error(), 120))
	} else if r.Status != 0 {
		facts = append(facts, "status "+strconv.Itoa(r.Status))
	}
	if n := len(r.Hops) - 1; n > 0 {
		facts = append(facts, command.Plural(n, "redirect"))
	}
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	return text
}

func answerSentence(a visit.Answer) string {
	if a.Status == 0 {
		return ""
	}
	text := strconv.Itoa(a.Status)
	if a.ContentType != "" {
		text += " " + a.ContentType
	}
	text += ", " + a.Protocol + " from " + a.Remote
	if a.RetryAfter != "" {
		text += ", Retry-After " + a.RetryAfter
	}
	return text
}

func timingSentence(t visit.Timing) string {
	if t.Sent.IsZero() {
		return ""
	}
	var parts []string
	for _, p := range []struct {
		name string
		d    time.Duration
	}{{"lookup", t.DNS}, {"connect", t.Connect}, {"handshake", t.TLS}, {"first byte", t.FirstByte}, {"total", t.Total}} {
		if p.d > 0 {
			parts = append(parts, p.name+" "+command.RoundTime(p.d))
		}
	}
	return strings.Join(parts, ", ")
}

func bodySentence(a visit.Answer) string {
	if a.DecodedBytes == 0 && a.WireBytes == 0 {
		return ""
	}
	text := command.Plural(int(a.DecodedBytes), "byte")
	if a.WireBytes != a.DecodedBytes {
		text += fmt.Sprintf(", %s on the wire", command.Plural(int(a.WireBytes), "byte"))
	}
	return text
}

func linksSentence(links []visit.Link) string {
	nofollow := 0
	for _, l := range links {
		if l.Nofollow {
			nofollow++
		}
	}
	text := strconv.Itoa(len(links))
	if nofollow > 0 {
		text += fmt.Sprintf(", %d of them nofollow", nofollow)
	}
	return text
}

// evidenceSentence shows what is not said by other rows: robots has its own.
func evidenceSentence(e visit.Evidence) string {
	switch e.Kind {
	case visit.ChallengePage:
		return fmt.Sprintf("%s challenge page: %s", e.Note, e.Rule)
	case visit.AddressRefused:
		return fmt.Sprintf("address %s: %s", e.Note, e.Rule)
	default:
		return ""
	}
}

// nextSentence says what to do about a visit that did not happen.
func nextSentence(v visit.Visit) string {
	u := v.Item.URL
	switch v.Reason {
	case visit.BadPort:
		addr, err := netip.ParseAddr(u.Hostname())
		if err != nil || guard.Public(addr) {
			return fmt.Sprintf("allow the port with --ports %d", u.Port())
		}
		return fmt.Sprintf("if you own the host, use --allow-private %s:%d", netip.PrefixFrom(addr, addr.BitLen()), u.Port())
	case visit.PrivateAddress:
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
			return fmt.Sprintf("if you own the host, use --allow-private %s:%d", netip.PrefixFrom(addr, addr.BitLen()), u.Port())
		}
		return "if you own the host, use --allow-private CIDR:PORT"
	case visit.RobotsUnreachable:
		return "try again later; a host is crawled only when its robots.txt is known"
	case visit.RobotsDisallow:
		return "if you own the host, use --owned --ignore-robots"
	case visit.DNS:
		return "check the host name, or try another resolver with --resolver IP:PORT"
	default:
		return ""
	}
}

// lookJSON is a visit for programs.
func lookJSON(look visitor.Look, headers, links bool) any {
	if !links {
		look.Visit.Links = nil
	}
	answer := struct {
		visit.Visit
		Waited   time.Duration       `json:"waited,omitempty"`
		Reaction string              `json:"reaction,omitempty"`
		Header   map[string][]string `json:"header,omitempty"`
	}{look.Visit, look.Waited, look.Reaction, nil}
	if headers {
		answer.Header = look.Header
	}
	return answer
}
