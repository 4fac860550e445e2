package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway/client"
)

// streams answers each attempt with the next of its responses.
type streams struct {
	t        *testing.T
	after    string // Last-Event-ID of the first attempt
	attempts []func(r *http.Request) (*http.Response, error)
	began    time.Time
	log      []string // time and Last-Event-ID of each attempt
}

// RoundTrip implements [http.RoundTripper].
func (s *streams) RoundTrip(r *http.Request) (*http.Response, error) {
	s.log = append(s.log, fmt.Sprintf("%v:%s", time.Since(s.began), r.Header.Get("Last-Event-ID")))
	next := s.attempts[min(len(s.log), len(s.attempts))-1]
	return next(r)
}

// says is a stream with some text that ends.
func says(text string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}

// down is a server that refuses connections.
func down(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// mute is a server that sends a header and nothing more.
func mute(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, Request: r}, nil
}

// follow collects events until the stream ends or there are enough.
func (s *streams) follow(enough int, attempts ...func(*http.Request) (*http.Response, error)) ([]int64, error) {
	s.attempts, s.began, s.log = attempts, time.Now(), nil
	var got []int64
	for e, err := range open(s.t, s).FollowEvents(s.t.Context(), client.FollowEventsParams{LastEventID: s.after}) {
		if err != nil {
			return got, err
		}
		if got = append(got, e.ID); len(got) == enough {
			break
		}
	}
	return got, nil
}

// TestFollow continues after the last event, whatever happens to the server, and gives
// up after a while.
func TestFollow(t *testing.T) {
	event := func(id int) string { return fmt.Sprintf("id: %d\nevent: job.running\ndata: {\"id\":%d}\n\n", id, id) }
	synctest.Test(t, func(t *testing.T) {
		s := &streams{t: t, after: "2"}
		got, err := s.follow(3,
			says("retry: 3000\n\n:\n\n"+event(3)+"id: 4\ndata: {\"id"), down, down, mute, says(event(4)), says(event(9)))
		if err != nil || fmt.Sprint(got) != "[3 4 9]" {
			t.Errorf("events %v, %v", got, err)
		}
		if log := fmt.Sprint(s.log); log != "[0s:2 3s:3 9s:3 21s:3 1m24s:3 1m27s:4]" {
			t.Errorf("attempts %s", log)
		}
	})
	synctest.Test(t, func(t *testing.T) { // from now on, and lost before the first event
		s := &streams{t: t}
		got, err := s.follow(1, says("id: 7\nretry: 1000\n\n"), down, says("id: 7\n\n"+event(8)))
		if log := fmt.Sprint(s.log); err != nil || fmt.Sprint(got) != "[8]" || log != "[0s: 1s:7 3s:7]" {
			t.Errorf("events %v, %v, attempts %s", got, err, log)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &streams{t: t, after: "2"}
		if _, err := s.follow(1, down); err == nil || !strings.Contains(err.Error(), "connection refused") || len(s.log) != 11 {
			t.Errorf("gave up with %v after %d attempts", err, len(s.log))
		}
		refused := handle(func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusUnauthorized) })
		if p, ok := errors.AsType[*client.Problem](func() error { _, err := s.follow(1, refused.RoundTrip); return err }()); !ok || p.Status != http.StatusUnauthorized || len(s.log) != 1 {
			t.Errorf("refused with %v after %d attempts", p, len(s.log))
		}
		if _, err := s.follow(1, says("data: {\n\n")); err == nil || len(s.log) != 1 {
			t.Errorf("no event: %v after %d attempts", err, len(s.log))
		}
	})
}
