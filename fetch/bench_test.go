package fetch

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"headway/lab"
	"headway/parse"
	"headway/weburl"
)

// pagesOfLab returns the URLs of n gzipped pages on one host.
func pagesOfLab(b *testing.B, n int) (labAddress, []weburl.URL) {
	b.Helper()
	temper := lab.Plain()
	temper.Site = lab.DefaultSite()
	temper.Site.Pages, temper.Site.Gzip = n, true
	at := startLab(b, lab.Config{Hosts: lab.Uniform(1, temper)})
	// Crawl the lab for its pages.
	c := at.client(b, Config{})
	seed := mustURL(at.Seeds[0])
	seen := map[weburl.URL]bool{seed: true}
	queue := []weburl.URL{seed}
	for i := 0; i < len(queue) && len(queue) < n; i++ {
		r, err := c.Do(b.Context(), Request{URL: queue[i]})
		if err != nil {
			b.Fatal(err)
		}
		for _, link := range hrefs(r.Body) {
			u, err := queue[i].Resolve(link)
			if err == nil && u.Host() == seed.Host() && strings.HasPrefix(u.Path(), "/s") && strings.HasSuffix(u.Path(), ".html") && u.Query() == "" && !seen[u] {
				seen[u] = true
				queue = append(queue, u)
			}
		}
		r.Close()
	}
	return at, queue
}

// hrefs finds links in the simplest way.
func hrefs(body []byte) (links []string) {
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return links
		case html.StartTagToken:
			name, more := z.TagName()
			for more && string(name) == "a" {
				var k, v []byte
				k, v, more = z.TagAttr()
				if string(k) == "href" {
					links = append(links, string(v))
				}
			}
		}
	}
}

// workers is how many exchanges are under way at once.
const workers = 64

// fetchPages fetches b.N pages and reports the CPU time of this process for one.
func fetchPages(b *testing.B, pages []weburl.URL, get func(u weburl.URL, body *bytes.Buffer) (int, error)) {
	b.ReportAllocs()
	var next atomic.Int64
	var read atomic.Int64
	cpu := cpuTime(b)
	var wg sync.WaitGroup
	b.ResetTimer()
	for range workers {
		wg.Go(func() {
			body := bytes.NewBuffer(make([]byte, 0, 128<<10))
			for {
				i := next.Add(1)
				if i > int64(b.N) {
					return
				}
				n, err := get(pages[int(i)%len(pages)], body)
				if err != nil {
					b.Error(err)
					return
				}
				read.Add(int64(n))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(b.N), "cpu-µs/page")
	b.ReportMetric(float64(read.Load())/float64(b.N), "B/page")
}

// bareClient is a plain net/http client, for comparison.
func bareClient() *http.Client {
	return &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{MaxIdleConnsPerHost: workers, IdleConnTimeout: time.Minute},
	}
}

// BenchmarkPages fetches and decodes gzipped pages from a lab in a separate process,
// with 64 concurrent exchanges: with a plain net/http client, and with ours.
// cpu-µs/page is the result that counts.
func BenchmarkPages(b *testing.B) {
	at, pages := pagesOfLab(b, 2000)
	b.Run("bare", func(b *testing.B) {
		client := bareClient()
		defer client.CloseIdleConnections()
		fetchPages(b, pages, func(u weburl.URL, body *bytes.Buffer) (int, error) {
			resp, err := client.Get(u.String())
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			body.Reset()
			n, err := body.ReadFrom(resp.Body)
			return int(n), err
		})
	})
	b.Run("headway", func(b *testing.B) {
		c := at.client(b, Config{})
		fetchPages(b, pages, func(u weburl.URL, _ *bytes.Buffer) (int, error) {
			r, err := c.Do(b.Context(), Request{URL: u})
			if err != nil {
				return 0, err
			}
			n := len(r.Body)
			r.Close()
			return n, nil
		})
	})
}

// BenchmarkRead is BenchmarkPages with link extraction: x/net's tokenizer and net/url
// on one side, package parse on the other.
func BenchmarkRead(b *testing.B) {
	at, pages := pagesOfLab(b, 2000)
	var links [2]atomic.Int64
	b.Run("bare", func(b *testing.B) {
		client := bareClient()
		defer client.CloseIdleConnections()
		fetchPages(b, pages, func(u weburl.URL, body *bytes.Buffer) (int, error) {
			resp, err := client.Get(u.String())
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			body.Reset()
			n, err := body.ReadFrom(resp.Body)
			base, _ := url.Parse(u.String())
			for _, href := range hrefs(body.Bytes()) {
				if l, err := base.Parse(href); err == nil && l.Scheme != "" {
					links[0].Add(1)
				}
			}
			return int(n), err
		})
	})
	b.Run("headway", func(b *testing.B) {
		c := at.client(b, Config{})
		fetchPages(b, pages, func(u weburl.URL, _ *bytes.Buffer) (int, error) {
			r, err := c.Do(b.Context(), Request{URL: u})
			if err != nil {
				return 0, err
			}
			defer r.Close()
			page, err := parse.Read(parse.Answer{URL: u, Status: r.Status, Header: r.Header, Body: r.Body}, parse.Options{})
			links[1].Add(int64(len(page.Links)))
			return len(r.Body), err
		})
	})
	if links[0].Load() == 0 || links[1].Load() == 0 {
		b.Error("no link was read")
	}
}

// BenchmarkDecode compares the decoders on a page like those of the lab.
func BenchmarkDecode(b *testing.B) {
	_, page := pagesAsText(b)
	d, bufs := newDecoders(1), &buffers{}
	dec, err := d.take(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for i, name := range []string{"gzip", "br", "zstd"} {
		compressed := compress(b, name, page)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				out, err := dec.decompress(coding(i), compressed, &decodeJob{buffers: bufs, limit: 10 << 20})
				if err != nil {
					b.Fatal(err)
				}
				bufs.put(out)
			}
		})
	}
	b.Run("gzip of the standard library", func(b *testing.B) {
		compressed := compress(b, "gzip", page)
		b.SetBytes(int64(len(page)))
		for b.Loop() {
			if _, err := plainDecode(codingGzip, compressed, 10<<20); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// pagesAsText returns one page of the lab, decompressed.
func pagesAsText(b *testing.B) (labAddress, []byte) {
	b.Helper()
	at := startLab(b, lab.Config{Hosts: lab.Uniform(1, lab.Plain())})
	r, err := at.client(b, Config{}).Do(b.Context(), Request{URL: mustURL(at.Seeds[0])})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	return at, bytes.Clone(r.Body)
}
