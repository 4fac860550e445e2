package headway_test

import (
	"testing"
	"testing/synctest"

	"headway"
	"headway/internal/simweb"
	"headway/job"
	"headway/lab"
	"headway/limit"
	"headway/store/memory"
	"headway/weburl"
)

// TestBytesNearTheLimit starts no more requests than fit under max_bytes, however many a
// host may have in flight.
func TestBytesNearTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := simweb.New(lab.Config{Hosts: []lab.HostSpec{{Name: "plain.example", Temper: small(300)}}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		run := func(most int64) headway.Report {
			t.Helper()
			report, err := headway.Run(t.Context(), headway.Worker{Store: memory.Open(memory.Config{}), Fetcher: newFetcher(t, w)}, headway.Job{
				Seeds: []weburl.URL{mustURL("http://plain.example/")}, Policy: preset("owned"), Sitemaps: headway.SitemapsOff, Limits: limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Bytes: most}}),
			})
			if err != nil {
				t.Fatal(err)
			}
			return report
		}
		all := run(1 << 40)
		if all.State != job.Complete {
			t.Fatalf("%+v", all)
		}
		mean := all.Spent.Bytes / all.Spent.Pages
		most := all.Spent.Bytes / 4
		r := run(most)
		// The last page reaches the limit; a page may be larger than those before it.
		if r.State != job.Partial || r.Reason != string(limit.Bytes) || r.Spent.Bytes < most || r.Spent.Bytes > most+4*mean {
			t.Errorf("%s %s: %d bytes of %d, %d a page", r.State, r.Reason, r.Spent.Bytes, most, mean)
		}
		if r.Limit == nil || r.Limit.Layer != limit.Job || r.Limit.Max != most {
			t.Errorf("stopped by %+v", r.Limit)
		}
	})
}
