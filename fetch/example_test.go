package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"time"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/weburl"
)

// Fetch one page from a local server. A loopback address must be allowed, and then
// counts as owned.
func ExampleClient_Do() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<a href=/next>next</a>")
	}))
	defer srv.Close()

	addr := netip.MustParseAddrPort(srv.Listener.Addr().String())
	dialer, err := guard.New(guard.Config{
		AllowPrivate: []guard.Range{{Prefix: netip.PrefixFrom(addr.Addr(), 32), Ports: []uint16{addr.Port()}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := fetch.New(fetch.Config{
		Dialer:   dialer,
		Identity: fetch.Identity{Version: "1.0", Contact: "ops@example.com"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	u, err := weburl.Parse(srv.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := client.Do(context.Background(), fetch.Request{URL: u})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	fmt.Println(r.Status, r.Proto, string(r.Body))
	// Output: 200 HTTP/1.1 <a href=/next>next</a>
}

// A private address is not contacted; the error's reason says so.
func ExampleError() {
	dialer, err := guard.New(guard.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := fetch.New(fetch.Config{Dialer: dialer, Identity: fetch.Identity{Contact: "ops@example.com"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	u, err := weburl.Parse("http://169.254.169.254/latest/meta-data/")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Do(context.Background(), fetch.Request{URL: u})
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		fmt.Println(e.Reason, e.Reason.Skipped())
	}
	// Output: private_address true
}

func ExampleReadRetryAfter() {
	fmt.Println(fetch.ReadRetryAfter(fetch.RetryInput{
		Status:     http.StatusTooManyRequests,
		RetryAfter: []string{"Sun, 15 Nov 2026 10:02:00 GMT"},
		Date:       "Sun, 15 Nov 2026 10:00:00 GMT", // the wait counts from the server's clock
		Now:        time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC),
		Budget:     time.Hour,
	}))
	// Output: {wait 2m0s host}
}

func ExampleSecrets() {
	u, err := weburl.Parse("https://staging.example.com/")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := fetch.NewSecrets(u, http.Header{"X-Token": {"hunter2"}}, "", "")
	fmt.Println(s, strings.Contains(fmt.Sprintf("%#v", s), "hunter2"), err)
	// Output: for https://staging.example.com: X-Token (values hidden) false <nil>
}
