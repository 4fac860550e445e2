// Package labtest serves labs to tests.
package labtest

import (
	"context"
	"strings"
	"testing"

	"headway/lab"
	"headway/weburl"
)

// Serve serves a lab on free ports, with and without TLS, until the test ends.
func Serve(t testing.TB, cfg lab.Config) *lab.Lab {
	t.Helper()
	l, stop, err := start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// ServeSite serves a site with this many pages until stop is called, for examples: it
// panics where a test would fail.
func ServeSite(pages int) (seeds []weburl.URL, stop func()) {
	site := lab.Plain()
	site.Site.Pages = pages
	l, end, err := start(lab.Config{Hosts: lab.Uniform(1, site)})
	if err != nil {
		panic(err)
	}
	for _, raw := range l.Seeds() {
		u, err := weburl.Parse(strings.TrimSpace(raw))
		if err != nil {
			panic(err)
		}
		seeds = append(seeds, u)
	}
	return seeds, func() {
		if err := end(); err != nil {
			panic(err)
		}
	}
}

// start serves a lab on free ports until stop is called.
func start(cfg lab.Config) (l *lab.Lab, stop func() error, err error) {
	cfg.Listen, cfg.ListenTLS = "0.0.0.0:0", "0.0.0.0:0"
	if l, err = lab.New(cfg); err != nil {
		return nil, nil, err
	}
	if err := l.Listen(context.Background()); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return l, func() error {
		cancel()
		return <-done
	}, nil
}
