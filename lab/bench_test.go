package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func BenchmarkRenderPlain(b *testing.B) { benchmarkRender(b, false) }
func BenchmarkRenderGzip(b *testing.B)  { benchmarkRender(b, true) }

func benchmarkRender(b *testing.B, gzip bool) {
	l := mustNew(b, Config{Seed: 1, Hosts: Uniform(1, Plain())})
	l.web.filler().prepare()
	var out body
	sent := 0
	b.ReportAllocs()
	for i := range b.N {
		out.reset(gzip)
		l.web.renderPage(&out, &l.web.hosts[0], i%1000, 0)
		sent += len(out.finish())
	}
	b.SetBytes(int64(sent / b.N))
}

// BenchmarkGunzip compares the cost for clients of joined blocks and of a page
// compressed as a whole.
func BenchmarkGunzip(b *testing.B) {
	l := mustNew(b, Config{Seed: 1, Hosts: Uniform(1, Plain())})
	forms := map[string][][]byte{}
	for n := range 100 {
		var p body
		p.reset(true)
		l.web.renderPage(&p, &l.web.hosts[0], n, 0)
		forms["joined"] = append(forms["joined"], bytes.Clone(p.finish()))
		p.reset(false)
		l.web.renderPage(&p, &l.web.hosts[0], n, 0)
		forms["whole"] = append(forms["whole"], gzipOnce(p.finish()))
	}
	for name, pages := range forms {
		b.Run(name, func(b *testing.B) {
			var zr gzip.Reader
			total := int64(0)
			for i := range b.N {
				if err := zr.Reset(bytes.NewReader(pages[i%len(pages)])); err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, &zr)
				if err != nil {
					b.Fatal(err)
				}
				total += n
			}
			b.SetBytes(total / int64(b.N))
		})
	}
}

// bare serves the pages of a host from memory: the best net/http can do with the same
// bytes.
func bare(b *testing.B, l *Lab) string {
	b.Helper()
	type answer struct{ length, body []byte }
	pages := map[string]answer{}
	for _, path := range l.web.paths {
		w := ask(l, l.web.hosts[0].base+path, "Accept-Encoding", "gzip")
		pages[path] = answer{[]byte(strconv.Itoa(w.Body.Len())), w.Body.Bytes()}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		head := w.Header()
		head["Content-Type"] = []string{htmlType}
		head["Content-Encoding"] = []string{"gzip"}
		head["Content-Length"] = []string{string(p.length)}
		w.Write(p.body)
	})}
	go srv.Serve(ln)
	b.Cleanup(func() { srv.Close() })
	return "http://" + ln.Addr().String()
}

// BenchmarkServe compares the lab with the bare handler through a Go client
// in the same process.
func BenchmarkServe(b *testing.B) {
	l, c := start(b, Config{Seed: 1, Hosts: Uniform(1, Plain())})
	c.Transport.(*http.Transport).DisableCompression = true
	bases := []struct{ name, base string }{{"bare", bare(b, l)}, {"lab", l.web.hosts[0].base}}
	for _, s := range bases {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for n := 0; pb.Next(); n++ {
					req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.base+l.web.paths[n%1000], nil)
					if err != nil {
						b.Fatal(err)
					}
					req.Header.Set("Accept-Encoding", "gzip")
					resp, err := c.Do(req)
					if err != nil {
						b.Fatal(err)
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		})
	}
}

var (
	wrkRate  = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkCount = regexp.MustCompile(`([0-9]+) requests in`)
)

// wrkRun is the result of one run of wrk.
type wrkRun struct {
	rate float64 // requests per second
	cpu  float64 // microseconds of this process per request: steadier than a rate on a busy machine
}

func runWrk(b *testing.B, wrk, base string) wrkRun {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	before := cpuSeconds()
	out, err := exec.CommandContext(ctx, wrk, "-t1", "-c32", "-d3s", "-H", "Accept-Encoding: gzip", "-s", "testdata/pages.lua", base+"/").CombinedOutput()
	used := cpuSeconds() - before
	rate, count := wrkRate.FindSubmatch(out), wrkCount.FindSubmatch(out)
	if err != nil || rate == nil || count == nil || strings.Contains(string(out), "Non-2xx") {
		b.Fatalf("wrk: %v\n%s", err, out)
	}
	perSecond, err1 := strconv.ParseFloat(string(rate[1]), 64)
	requests, err2 := strconv.ParseFloat(string(count[1]), 64)
	if err1 != nil || err2 != nil {
		b.Fatalf("wrk: %v %v\n%s", err1, err2, out)
	}
	return wrkRun{perSecond, used * 1e6 / requests}
}

// BenchmarkWrk checks that the lab serves at least half as fast as a bare handler with
// the same bytes: wrk, the two in turn, three times, medians. Run it alone:
//
//	go test ./lab -run '^$' -bench Wrk -benchtime 1x
func BenchmarkWrk(b *testing.B) {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		b.Skip("wrk is not installed")
	}
	const (
		runs  = 3
		least = 0.5
	)
	l, _ := start(b, Config{Seed: 1, Hosts: Uniform(1, Plain())})
	bases := map[string]string{"bare": bare(b, l), "lab": l.web.hosts[0].base}
	rates, cpu := map[string][]float64{}, map[string][]float64{}
	for range runs {
		for _, name := range []string{"bare", "lab"} {
			run := runWrk(b, wrk, bases[name])
			rates[name] = append(rates[name], run.rate)
			cpu[name] = append(cpu[name], run.cpu)
		}
	}
	b.Logf("bare %.0f, lab %.0f", rates["bare"], rates["lab"])
	median := func(of []float64) float64 { return slices.Sorted(slices.Values(of))[runs/2] }
	ratio := median(rates["lab"]) / median(rates["bare"])
	b.ReportMetric(median(rates["bare"]), "bare-req/s")
	b.ReportMetric(median(rates["lab"]), "lab-req/s")
	b.ReportMetric(ratio, "lab/bare")
	b.ReportMetric(median(cpu["bare"]), "bare-cpu-µs")
	b.ReportMetric(median(cpu["lab"]), "lab-cpu-µs")
	b.ReportMetric(0, "ns/op")
	if ratio < least {
		b.Errorf("the lab serves %.2f of what a bare handler does, want at least %.2f", ratio, least)
	}
}
