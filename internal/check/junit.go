package check

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"headway/internal/atomicfile"
)

// The parts of JUnit XML that all readers agree on.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string    `xml:"name,attr"`
		Class   string    `xml:"classname,attr"`
		Failure *junitWhy `xml:"failure,omitempty"`
		Error   *junitWhy `xml:"error,omitempty"`
		Skipped *junitWhy `xml:"skipped,omitempty"`
	}
	junitWhy struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the verdicts to a file as a test suite, atomically: one passed
// test for all links that are ok, one test for each link that is not. Only links that
// fail the check are failures, the rest is skipped; links that were not checked for
// lack of time are an error.
func (r *Report) WriteJUnit(path string, now time.Time, took time.Duration) error {
	s := junitSuite{Name: "headway check", Time: fmt.Sprintf("%.3f", took.Seconds()), Timestamp: now.UTC().Format("2006-01-02T15:04:05")}
	if n := r.Counts[OK]; n > 0 {
		s.Cases = append(s.Cases, junitCase{Name: fmt.Sprintf("%d links are ok", n), Class: "links." + string(OK)})
	}
	if n := r.Counts[Waiting]; n > 0 {
		why := &junitWhy{Message: valid(fmt.Sprintf("%s: %s, %d links were not checked", r.State, r.Reason, n))}
		s.Cases = append(s.Cases, junitCase{Name: "the check is complete", Class: "links." + string(Waiting), Error: why})
		s.Errors++
	}
	for i := range r.Links {
		l := &r.Links[i]
		why := &junitWhy{Message: valid(string(l.Verdict) + ": " + l.Word()), Text: valid(strings.Join(slices.Concat(l.Pages, l.Redirects), "\n"))}
		c := junitCase{Name: valid(l.URL), Class: "links." + string(l.Verdict)}
		if r.FailOn.Fails(l.Verdict) {
			c.Failure = why
			s.Failures++
		} else {
			c.Skipped = why
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	return atomicfile.Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, xml.Header); err != nil {
			return err
		}
		enc := xml.NewEncoder(w)
		enc.Indent("", "  ")
		if err := enc.Encode(junitSuites{Suite: s}); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\n")
		return err
	})
}

// valid removes characters that XML cannot contain, and keeps line ends.
func valid(s string) string {
	lines := strings.Split(strings.ToValidUTF8(s, "\ufffd"), "\n")
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	return strings.Join(lines, "\n")
}
