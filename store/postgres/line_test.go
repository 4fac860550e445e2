package postgres

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestLine reads from a server that does not respond.
func TestLine(t *testing.T) {
	const silence = time.Minute
	for name, c := range map[string]struct {
		deadline time.Duration // set by the driver; zero for none
		listen   bool
		want     time.Duration // zero: no timeout
	}{
		"an answer is owed":                       {want: silence},
		"it is wanted sooner":                     {deadline: time.Second, want: time.Second},
		"it is wanted later":                      {deadline: time.Hour, want: silence},
		"nothing is owed":                         {listen: true},
		"nothing is owed, and the wait is called": {listen: true, deadline: time.Hour, want: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer server.Close()
				l := &line{Conn: client, silence: silence}
				defer l.Close()
				if c.listen {
					listen(l)
				}
				began := time.Now()
				if c.deadline > 0 {
					if err := l.SetDeadline(began.Add(c.deadline)); err != nil {
						t.Fatal(err)
					}
				}
				if c.want == 0 {
					go func() {
						time.Sleep(24 * time.Hour)
						_, _ = server.Write([]byte{1}) // the read shows whether it arrived
					}()
				}
				n, err := l.Read(make([]byte, 1))
				if c.want == 0 {
					if n != 1 || err != nil {
						t.Errorf("%d bytes, %v", n, err)
					}
					return
				}
				if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took != c.want {
					t.Errorf("%v after %v, want a deadline after %v", err, took, c.want)
				}
			})
		})
	}
	t.Run("a waiting read is cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			defer server.Close()
			l := &line{Conn: client, silence: silence}
			defer l.Close()
			began := time.Now()
			time.AfterFunc(time.Second, func() { _ = l.SetDeadline(time.Now()) }) // the read shows
			if _, err := l.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	})
}
