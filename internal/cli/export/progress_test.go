package export

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress shows a first line soon and others late; on a terminal one that
// changes, and nothing when it is to be quiet.
func TestProgress(t *testing.T) {
	for name, tt := range map[string]struct {
		quiet, terminal bool
		want            string
	}{
		"in lines":      {want: "headway: 256 of 2048 URLs written, 12 %, 128/s\nheadway: 1024 of 2048 URLs written, 50 %, 128/s\nheadway: 1792 of 2048 URLs written, 87 %, 128/s\n"},
		"on a terminal": {terminal: true, want: "\r\x1b[K256 of 2048 URLs written, 12 %, 128/s\r\x1b[K512 of 2048 URLs written, 25 %, 128/s\r\x1b[K"},
		"quiet":         {quiet: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := progress{w: &out, quiet: tt.quiet, say: sayURLs}
				p.begin(2048)
				p.terminal = tt.terminal
				steps := 2048
				if tt.terminal {
					steps = 512
				}
				for n := range steps {
					if n%256 == 255 {
						time.Sleep(2 * time.Second)
					}
					p.step()
				}
				p.end()
				if out.String() != tt.want {
					t.Errorf("it says %q", out.String())
				}
			})
		})
	}
	if got, want := sayBytes(5<<20, 20<<20, 2.5*(1<<20)), "5 of 20 MB uploaded, 25 %, 2.5 MB/s"; got != want {
		t.Errorf("it says %q", got)
	}
}
