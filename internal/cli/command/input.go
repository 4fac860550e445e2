package command

import (
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"headway/internal/jobspec"
	"headway/weburl"
)

// SeedURL reads a URL that a person typed: example.com means https.
func SeedURL(raw string) (weburl.URL, error) {
	u, err := jobspec.SeedURL(raw)
	if bad, ok := errors.AsType[*jobspec.Error](err); ok {
		return weburl.URL{}, Usage(bad.Err, bad.Hint)
	}
	return u, err
}

// UserName is the user who gives an order, for the log.
func UserName() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}

// HostsNamed reads a host as people name it: with a scheme, or without one, which
// may mean https or http.
func HostsNamed(name string) ([]string, error) {
	candidates := []string{name}
	if !strings.Contains(name, "://") {
		candidates = []string{"https://" + name, "http://" + name}
	}
	var hosts []string
	for _, c := range candidates {
		u, err := weburl.Parse(c)
		if err != nil {
			return nil, Usage(fmt.Errorf("invalid host %q", name), "give a host such as example.com, example.com:8080 or http://example.com")
		}
		hosts = append(hosts, u.Host())
	}
	return hosts, nil
}

// Interval reads a duration. A bare 0 is allowed.
func Interval(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, Usage(fmt.Errorf("invalid interval %q", text), "give a duration, for example 500ms, 5s or 1m; 0 removes the minimum")
	}
	return d, nil
}

// URLReading is one way to understand a URL that was typed.
type URLReading struct {
	URL   weburl.URL
	Steps []weburl.Step
}

// ReadURL reads a URL as people type it: without a scheme it may mean https or
// http.
func ReadURL(text string) ([]URLReading, error) {
	raws := []string{text}
	if !strings.Contains(text, "://") {
		raws = []string{"https://" + text, "http://" + text}
	}
	var list []URLReading
	for _, raw := range raws {
		u, steps, err := weburl.Explain(raw, weburl.URL{})
		if err != nil {
			return nil, Usage(err, "give a URL such as https://example.com/page")
		}
		list = append(list, URLReading{u, steps})
	}
	return list, nil
}
