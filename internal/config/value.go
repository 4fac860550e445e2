package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is a field of [Settings] with its text form.
type value interface {
	// set parses the texts of one layer: one for most settings, any number for lists.
	// The error is a *valueError, or completes the sentence "KEY …".
	set(texts []string) error
	// texts is the value in text form; nil if it is empty.
	texts() []string
	// kind describes the type for people: "number from 1 to 100".
	kind() string
}

// valueError is an invalid value of a setting.
type valueError struct {
	kind  string // the expected type: duration
	text  string // what was given; empty for a secret
	hint  string // what to write instead
	cause error  // nil if the hint is enough
}

func (e *valueError) Error() string { return e.about("") }

func (e *valueError) Unwrap() error { return e.cause }

// about is the message with the name of the setting or flag.
func (e *valueError) about(name string) string {
	s := "invalid " + e.kind
	if e.text != "" {
		s += fmt.Sprintf(" %q", e.text)
	}
	if name != "" {
		s += " for " + name
	}
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// chooseOne is the hint for a value outside a closed set.
func chooseOne(words []string) string { return "choose one of " + strings.Join(words, ", ") }

// single returns the text of a setting that is not a list.
func single(texts []string) (string, error) {
	if len(texts) != 1 {
		return "", errors.New("takes one value, not a list")
	}
	return strings.TrimSpace(texts[0]), nil
}

// number is a whole number.
type number struct {
	to       *int64
	min, max int64
}

func (n number) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	i, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil || i < n.min || i > n.max {
		return &valueError{kind: "number", text: text, hint: "give a " + n.kind()}
	}
	*n.to = i
	return nil
}

func (n number) texts() []string { return []string{strconv.FormatInt(*n.to, 10)} }

func (n number) kind() string {
	if n.max == math.MaxInt64 {
		return fmt.Sprintf("whole number, %d or more", n.min)
	}
	return fmt.Sprintf("whole number from %d to %d", n.min, n.max)
}

// span is a duration.
type span struct {
	to       *time.Duration
	min, max time.Duration
}

// maxSpan bounds durations that have no bound of their own.
const maxSpan = 10 * 365 * 24 * time.Hour

func (s span) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < s.min || d > s.max {
		hint := "give a " + s.kind()
		if _, bare := strconv.ParseFloat(text, 64); bare == nil {
			hint = "add a unit, for example " + text + "s"
		}
		return &valueError{kind: "duration", text: text, hint: hint}
	}
	*s.to = d
	return nil
}

func (s span) texts() []string { return []string{short(*s.to)} }

func (s span) kind() string {
	if s.max == maxSpan {
		return fmt.Sprintf("duration of at least %s, for example 500ms, 30s or 2h", short(s.min))
	}
	return fmt.Sprintf("duration from %s to %s", short(s.min), short(s.max))
}

// short formats a duration without empty units.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// size is a number of bytes.
type size struct {
	to  *int64
	min int64
}

// units of bytes, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (s size) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	bytes, err := parseSize(text)
	if err != nil || bytes < s.min {
		return &valueError{kind: "size", text: text, hint: "give a " + s.kind()}
	}
	*s.to = bytes
	return nil
}

func parseSize(text string) (int64, error) {
	scale := int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			text, scale = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/scale {
		return 0, errors.New("out of range")
	}
	return n * scale, nil
}

func (s size) texts() []string { return []string{formatSize(*s.to)} }

func formatSize(bytes int64) string {
	for _, u := range units {
		if bytes >= u.bytes && bytes%u.bytes == 0 {
			return strconv.FormatInt(bytes/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(bytes, 10)
}

func (s size) kind() string {
	return fmt.Sprintf("size of at least %s, in bytes or with a unit, for example 64KiB, 256MiB or 1GiB", formatSize(s.min))
}

// amount is the value of a number or a size.
func amount(v value) int64 {
	switch v := v.(type) {
	case number:
		return *v.to
	case size:
		return *v.to
	default:
		return 0
	}
}

// yes is true or false.
type yes struct{ to *bool }

func (y yes) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	switch text {
	case "true":
		*y.to = true
	case "false":
		*y.to = false
	default:
		return &valueError{kind: "value", text: text, hint: chooseOne([]string{"true", "false"})}
	}
	return nil
}

func (y yes) texts() []string { return []string{strconv.FormatBool(*y.to)} }

func (y yes) kind() string { return "true or false" }

// word is one value of a closed set.
type word struct {
	to    *string
	words []string
}

func (w word) set(texts []string) error {
	text, err := single(texts)
	if err != nil {
		return err
	}
	if !slices.Contains(w.words, text) {
		return &valueError{kind: "value", text: text, hint: chooseOne(w.words)}
	}
	*w.to = text
	return nil
}

func (w word) texts() []string { return []string{*w.to} }

func (w word) kind() string { return strings.Join(w.words, ", ") }

// words are values of a closed set, given one by one or separated by commas.
type words struct {
	to    *[]string
	words []string
}

func (w words) set(texts []string) error {
	var chosen []string
	for _, text := range texts {
		for one := range strings.SplitSeq(text, ",") {
			one = strings.TrimSpace(one)
			switch {
			case one == "" || slices.Contains(chosen, one):
			case !slices.Contains(w.words, one):
				return &valueError{kind: "value", text: one, hint: chooseOne(w.words)}
			default:
				chosen = append(chosen, one)
			}
		}
	}
	*w.to = chosen
	return nil
}

func (w words) texts() []string { return slices.Clone(*w.to) }

func (w words) kind() string { return "any of " + strings.Join(w.words, ", ") }

// text is a text that passes a check.
type text struct {
	to    *string
	what  string
	check func(string) error // nil accepts anything; not called for ""
}

func (t text) set(texts []string) error {
	s, err := single(texts)
	if err != nil {
		return err
	}
	if t.check != nil && s != "" {
		if err := t.check(s); err != nil {
			return err
		}
	}
	*t.to = s
	return nil
}

func (t text) texts() []string {
	if *t.to == "" {
		return nil
	}
	return []string{*t.to}
}

func (t text) kind() string { return t.what }

// list is any number of texts.
type list struct {
	to    *[]string
	what  string
	check func(string) error // nil accepts anything
}

func (l list) set(texts []string) error {
	var entries []string
	for _, s := range texts {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		if l.check != nil {
			if err := l.check(s); err != nil {
				return err
			}
		}
		entries = append(entries, s)
	}
	*l.to = entries
	return nil
}

func (l list) texts() []string { return slices.Clone(*l.to) }

func (l list) kind() string { return "list of " + l.what }

// ports are port numbers, given one by one or separated by commas.
type ports struct{ to *[]uint16 }

// maxPorts bounds the additional ports: more would be a port scan.
const maxPorts = 100

func (p ports) set(texts []string) error {
	var chosen []uint16
	for _, text := range texts {
		for one := range strings.SplitSeq(text, ",") {
			one = strings.TrimSpace(one)
			if one == "" {
				continue
			}
			n, err := strconv.ParseUint(one, 10, 16)
			if err != nil || n == 0 {
				return &valueError{kind: "port", text: one, hint: "give a port from 1 to 65535"}
			}
			if !slices.Contains(chosen, uint16(n)) {
				chosen = append(chosen, uint16(n))
			}
		}
	}
	if len(chosen) > maxPorts {
		return fmt.Errorf("lists %d ports; at most %d are allowed", len(chosen), maxPorts)
	}
	*p.to = chosen
	return nil
}

func (p ports) texts() []string {
	var list []string
	for _, n := range *p.to {
		list = append(list, strconv.Itoa(int(n)))
	}
	return list
}

func (p ports) kind() string { return "list of ports" }
