package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway/client"
)

// handle is a server without a network, so that it works in virtual time.
type handle func(w http.ResponseWriter, r *http.Request)

// RoundTrip implements [http.RoundTripper].
func (h handle) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, r)
	a := w.Result()
	a.Request = r
	return a, nil
}

// open makes a client for a server.
func open(t *testing.T, answers http.RoundTripper) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Server: "https://headway.example/", Key: "hw_key\n", HTTP: &http.Client{Transport: answers}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, status int, header ...string) {
	w.Header().Set("Content-Type", "application/problem+json")
	for i := 0; i+1 < len(header); i += 2 {
		w.Header().Set(header[i], header[i+1])
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"urn:headway:problem:some_code","title":%q,"status":%d,"code":"some_code","detail":"it is so","hint":"do this"}`, http.StatusText(status), status)
}

// TestRequest checks what is sent and how the response is read.
func TestRequest(t *testing.T) {
	c := open(t, handle(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		got := fmt.Sprintf("%s %s %s %s %s %v", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), body, err)
		if want := `POST https://headway.example/v1/jobs Bearer hw_key mine {"limits":{"max_pages":0},"seeds":["example.com"]} <nil>`; got != want {
			t.Errorf("sent\n%s, want\n%s", got, want)
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id":7,"state":"queued","created_at":"2026-11-15T10:00:00Z","new_field":1}`)
	}))
	j, err := c.CreateJob(t.Context(), client.JobRequest{Seeds: []string{"example.com"}, Limits: &client.Limits{MaxPages: new(int64(0))}}, client.CreateJobParams{IdempotencyKey: "mine"})
	if err != nil || j.ID != 7 || j.State != "queued" || j.CreatedAt.Hour() != 10 {
		t.Errorf("%+v, %v", j, err)
	}
}

// TestRetries: a request is retried when the server asks for that, at the time it
// says, a bounded number of times, and only if it is safe to repeat.
func TestRetries(t *testing.T) {
	pause := func(ctx context.Context, c *client.Client) error { _, err := c.PauseJob(ctx, 7); return err }
	create := func(ctx context.Context, c *client.Client) error {
		_, err := c.CreateJob(ctx, client.JobRequest{Seeds: []string{"example.com"}}, client.CreateJobParams{})
		return err
	}
	read := func(ctx context.Context, c *client.Client) error { _, err := c.GetMe(ctx); return err }
	for _, test := range []struct {
		name   string
		status int
		header []string
		do     func(context.Context, *client.Client) error
		tries  int
		took   time.Duration
	}{
		{"too often", http.StatusTooManyRequests, []string{"Retry-After", "5"}, pause, 4, 15 * time.Second},
		{"busy", http.StatusServiceUnavailable, []string{"Retry-After", "2"}, read, 4, 6 * time.Second},
		{"busy without a time", http.StatusServiceUnavailable, nil, read, 4, 7 * time.Second},
		{"a creation with a key of its own", http.StatusServiceUnavailable, []string{"Retry-After", "2"}, create, 4, 6 * time.Second},
		{"an order that may have been carried out", http.StatusServiceUnavailable, []string{"Retry-After", "2"}, pause, 1, 0},
		{"for too long", http.StatusTooManyRequests, []string{"Retry-After", "3600"}, read, 1, 0},
		{"a date", http.StatusTooManyRequests, []string{"Retry-After", "Sat, 01 Jan 2000 00:00:07 GMT"}, read, 4, 7 * time.Second},
		{"refused", http.StatusForbidden, []string{"Retry-After", "1"}, read, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries, keys := 0, map[string]bool{}
				c := open(t, handle(func(w http.ResponseWriter, r *http.Request) {
					tries++
					keys[r.Header.Get("Idempotency-Key")] = true
					refuse(w, test.status, test.header...)
				}))
				began := time.Now()
				p, ok := errors.AsType[*client.Problem](test.do(t.Context(), c))
				if !ok || p.Status != int64(test.status) || p.Code != "some_code" || p.Error() != "it is so (do this)" {
					t.Errorf("failed with %+v", p)
				}
				if took := time.Since(began); tries != test.tries || took != test.took || len(keys) != 1 {
					t.Errorf("%d tries in %v with %d keys, want %d in %v", tries, took, len(keys), test.tries, test.took)
				}
			})
		})
	}
}

// TestForeignResponses returns problems for responses that are not from Headway, and
// follows no redirects.
func TestForeignResponses(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer handle
		want   string
	}{
		{"a page", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html>")
		}, `headway.example returned "502 Bad Gateway" (this response is not`},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://other.example/login", http.StatusFound)
		}, `returned "302 Found" and redirects to https://other.example/login (`},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }, "reading the response to GET /v1/me: invalid"},
		{"too long", func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte(" "), 64<<20+1)) }, "has more than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := open(t, test.answer).GetMe(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("failed with %v, want %s", err, test.want)
			}
		})
	}
}

// TestAddresses rejects invalid server URLs.
func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "headway.example:8788", "ftp://headway.example", "http://", "http://me:secret@headway.example", "http://headway.example/?x=1"} {
		if _, err := client.New(client.Config{Server: bad}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestPages reads a list to its end, across empty pages, twice.
func TestPages(t *testing.T) {
	answers := map[string]string{
		"limit=2":          `{"jobs":[{"id":3},{"id":2}],"next_cursor":"b"}`,
		"cursor=b&limit=2": `{"jobs":[],"next_cursor":"c"}`,
		"cursor=c&limit=2": `{"jobs":[{"id":1}]}`,
		"":                 `{"events":[{"id":4}],"last":4}`,
		"after=4":          `{"events":[{"id":9}],"last":9}`,
		"after=9":          `{"events":[],"last":9}`,
	}
	c := open(t, handle(func(w http.ResponseWriter, r *http.Request) {
		if text := answers[r.URL.RawQuery]; text != "" {
			fmt.Fprint(w, text)
			return
		}
		refuse(w, http.StatusUnprocessableEntity)
	}))
	jobs := c.AllJobs(t.Context(), client.ListJobsParams{Limit: 2})
	for range 2 {
		var got []int64
		for j, err := range jobs {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, j.ID)
		}
		if fmt.Sprint(got) != "[3 2 1]" {
			t.Errorf("jobs %v", got)
		}
	}
	var got []int64
	for e, err := range c.AllEvents(t.Context(), client.ListEventsParams{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID)
	}
	if fmt.Sprint(got) != "[4 9]" {
		t.Errorf("events %v", got)
	}
	for _, err := range c.AllJobs(t.Context(), client.ListJobsParams{Cursor: "wrong"}) {
		if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusUnprocessableEntity {
			t.Errorf("failed with %v", err)
		}
	}
}

// TestExport tells a complete stream from a truncated one.
func TestExport(t *testing.T) {
	whole := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "{\"url\":%q}\n", r.URL.Query().Get("prefix"))
		if !whole {
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer s.Close()
	c, err := client.New(client.Config{Server: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, whole = range []bool{true, false} {
		body, err := c.ExportPages(t.Context(), 7, client.ExportPagesParams{Prefix: "/a&b"})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		body.Close()
		if string(text) != "{\"url\":\"/a&b\"}\n" || (err == nil) != whole {
			t.Errorf("%q, %v", text, err)
		}
	}
}
