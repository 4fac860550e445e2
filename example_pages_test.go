package headway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"headway"
	"headway/content"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/lab/labtest"
	"headway/limit"
	"headway/output"
	"headway/politeness"
	"headway/store/memory"
	"headway/store/sqlite"
	"headway/weburl"
)

// labSite serves a site on loopback, with a client that may connect to it and the policy for
// hosts of one's own.
func labSite(pages int) (seeds []weburl.URL, client *fetch.Client, policy politeness.Policy, stop func()) {
	seeds, end := labtest.ServeSite(pages)
	dialer, err := guard.New(guard.Config{AllowPrivate: []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Ports: []uint16{seeds[0].Port()}}}})
	if err != nil {
		panic(err)
	}
	client, err = fetch.New(fetch.Config{Dialer: dialer, Identity: fetch.Identity{Product: "example"}})
	if err != nil {
		panic(err)
	}
	policy, _ = politeness.Preset("owned")
	return seeds, client, policy, func() { client.Close(); end() }
}

// Call a function for each page of a site.
func ExampleRun_onPage() {
	seeds, client, policy, stop := labSite(4)
	defer stop()

	report, err := headway.Run(context.Background(), headway.Worker{
		Store:   memory.Open(memory.Config{}),
		Fetcher: client,
		OnPage: func(_ context.Context, p *output.Page) error {
			fmt.Println(p.Answer.Status, p.Page.Title, bytes.Contains(p.Body, []byte("</html>")))
			return nil
		},
	}, headway.Job{Seeds: seeds, Policy: policy})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.State, report.Counts.Pages())
	// Unordered output:
	// 200 Page 0 of host 0 true
	// 200 Page 1 of host 0 true
	// 200 Page 2 of host 0 true
	// 200 Page 3 of host 0 true
	// complete 4
}

// A program for a public site. It is not run here.
func Example_program() {
	client, err := fetch.New(fetch.Config{Identity: fetch.Identity{Product: "mybot", Contact: "you@example.com"}})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	seed, err := weburl.Parse("https://example.com/")
	if err != nil {
		panic(err)
	}
	report, err := headway.Run(context.Background(), headway.Worker{
		Store:   memory.Open(memory.Config{}),
		Fetcher: client,
		Agent:   "mybot",
		OnPage: func(_ context.Context, p *output.Page) error {
			fmt.Println(p.Item.URL, p.Page.Title, len(p.Body))
			return nil
		},
	}, headway.Job{Seeds: []weburl.URL{seed}})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.State, report.Reason, report.Counts.Pages())
}

// Pages for a slow function wait in memory and in a temporary file; four calls at once.
func ExampleNew_bodyWriter() {
	seeds, client, policy, stop := labSite(30)
	defer stop()
	index := make(chan string, 30)

	bodies := output.NewBodyWriter(func(_ context.Context, p *output.Page) error {
		index <- p.Item.URL.String() // safe for concurrent use
		return nil
	}, output.BodyConfig{Concurrency: 4, Memory: 64 << 20, Spool: 4 << 30})
	defer bodies.Close()

	worker := headway.Worker{Store: memory.Open(memory.Config{}), Fetcher: client, Outputs: []output.Writer{bodies}}
	report, err := headway.Run(context.Background(), worker, headway.Job{Seeds: seeds, Policy: policy})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.State, len(index))
	// Output:
	// complete 30
}

// The main text of pages.
func ExampleRun_content() {
	seeds, client, policy, stop := labSite(3)
	defer stop()
	words := 0

	job := headway.Job{Seeds: seeds, Policy: policy, Content: content.Options{Text: true, Markdown: true}}
	worker := headway.Worker{
		Store: memory.Open(memory.Config{}), Fetcher: client,
		OnPage: func(_ context.Context, p *output.Page) error {
			if c := p.Page.Content; c != nil { // nil without a main text, as for images
				words += c.Words // c.Text and c.Markdown are the text
			}
			if p.Page.Training() != "" {
				fmt.Println(p.Item.URL, p.Page.Training(), p.Page.Signals) // what the site says about AI
			}
			return nil
		},
	}
	if _, err := headway.Run(context.Background(), worker, job); err != nil {
		panic(err)
	}
	fmt.Println(words > 0)
	// Output:
	// true
}

// Stop after ten pages or a minute, and keep what was done in a folder, where the same
// program resumes.
func ExampleRun_stop() {
	seeds, client, policy, stop := labSite(30)
	defer stop()
	dir, remove := tempDir()
	defer remove()

	st, err := sqlite.Open(context.Background(), sqlite.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer st.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	report, err := headway.Run(ctx, headway.Worker{Store: st, Fetcher: client}, headway.Job{
		Seeds: seeds, Policy: policy,
		Limits: limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 10}}),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.State, report.Counts.Pages())
	// Output:
	// partial 10
}

// An error of the function ends the crawl; the page that it failed on is not stored.
func ExampleRun_error() {
	seeds, client, policy, stop := labSite(5)
	defer stop()
	errFull := errors.New("index is full")
	worker := headway.Worker{
		Store: memory.Open(memory.Config{}), Fetcher: client,
		OnPage: func(context.Context, *output.Page) error { return errFull },
	}

	_, err := headway.Run(context.Background(), worker, headway.Job{Seeds: seeds, Policy: policy})
	var panicked *output.PagePanicError
	if errors.As(err, &panicked) {
		fmt.Printf("%s\n%s", panicked, panicked.Stack)
	}
	fmt.Println(errors.Is(err, errFull))
	// Output:
	// true
}
