// Command colly crawls the lab with gocolly, configured as well as its API allows:
// robots.txt honoured and nofollow links ignored; without a delay its queue with a fixed
// number of consumers, since asynchronous collectors parse without limit; with a delay
// one rule per host, since one rule for all hosts would make them share an interval.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"
)

func main() {
	seedFile := flag.String("seeds", "", "file with one URL per line; only their hosts are crawled")
	workers := flag.Int("workers", 64, "concurrent fetches, without a delay")
	delay := flag.Duration("delay", 0, "interval between two requests to a host")
	flag.Parse()
	if err := run(*seedFile, *workers, *delay); err != nil {
		fmt.Fprintln(os.Stderr, "colly:", err)
		os.Exit(1)
	}
}

func run(seedFile string, workers int, delay time.Duration) error {
	raw, err := os.ReadFile(seedFile)
	if err != nil {
		return err
	}
	seeds := strings.Fields(string(raw))
	c := colly.NewCollector(colly.Async(delay > 0))
	c.IgnoreRobotsTxt = false
	c.WithTransport(&http.Transport{MaxIdleConnsPerHost: workers, IdleConnTimeout: time.Minute})
	c.SetRequestTimeout(30 * time.Second)
	for _, s := range seeds {
		u, err := url.Parse(s)
		if err != nil {
			return err
		}
		c.AllowedDomains = append(c.AllowedDomains, u.Hostname())
		if delay > 0 {
			if err := c.Limit(&colly.LimitRule{DomainRegexp: "^" + regexp.QuoteMeta(u.Host) + "$", Delay: delay, Parallelism: 1}); err != nil {
				return err
			}
		}
	}
	var pages, failed atomic.Int64
	c.OnResponse(func(*colly.Response) { pages.Add(1) })
	c.OnError(func(*colly.Response, error) { failed.Add(1) })
	start := time.Now()
	if delay > 0 {
		err = crawlAsync(c, seeds)
	} else {
		err = crawlQueue(c, seeds, workers)
	}
	if err != nil {
		return err
	}
	secs := time.Since(start).Seconds()
	fmt.Printf("pages=%d failed=%d secs=%.2f pages/s=%.0f\n", pages.Load(), failed.Load(), secs, float64(pages.Load())/secs)
	return nil
}

// follow calls found for every link to be followed, without its fragment.
func follow(c *colly.Collector, found func(e *colly.HTMLElement, u string)) {
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		if strings.Contains(e.Attr("rel"), "nofollow") {
			return
		}
		if u, _, _ := strings.Cut(e.Request.AbsoluteURL(e.Attr("href")), "#"); u != "" {
			found(e, u)
		}
	})
}

func crawlAsync(c *colly.Collector, seeds []string) error {
	follow(c, func(e *colly.HTMLElement, u string) {
		_ = e.Request.Visit(u) // the error means: known, forbidden or elsewhere
	})
	for _, s := range seeds {
		var known *colly.AlreadyVisitedError // a page of another host may have linked to it
		if err := c.Visit(s); err != nil && !errors.As(err, &known) {
			return err
		}
	}
	c.Wait()
	return nil
}

func crawlQueue(c *colly.Collector, seeds []string, workers int) error {
	q, err := queue.New(workers, &queue.InMemoryQueueStorage{MaxSize: 10_000_000})
	if err != nil {
		return err
	}
	follow(c, func(_ *colly.HTMLElement, u string) {
		if known, err := c.HasVisited(u); err == nil && !known {
			_ = q.AddURL(u) // the queue is larger than the lab
		}
	})
	for _, s := range seeds {
		if err := q.AddURL(s); err != nil {
			return err
		}
	}
	return q.Run(c)
}
