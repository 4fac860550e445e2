package lab_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"headway/lab"
	"headway/lab/temper"
)

// Create equal hosts that respond 429 above two requests per second, and send three
// requests without a network.
func ExampleNew() {
	t := lab.Plain()
	t.Site.Pages = 50
	t.Rules.Limits = []temper.Limit{{Rate: 2, Burst: 2}}
	l, err := lab.New(lab.Config{Hosts: lab.Uniform(200, t)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, l.Seeds()[7], nil))
		fmt.Println(l.Seeds()[7], w.Code)
	}
	fmt.Println("refusals:", l.Stats().Total.Refusals)
	// Output:
	// http://127.1.0.8:8780/ 200
	// http://127.1.0.8:8780/ 200
	// http://127.1.0.8:8780/ 429
	// refusals: 1
}

// Use a profile without a lab, in virtual time.
func ExampleFindTemper() {
	shop, _ := lab.FindTemper("shop")
	state := temper.NewState(1, 0)
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	for i := range 4 {
		v := state.Arrive(&shop.Rules, now.Add(time.Duration(i)*200*time.Millisecond), temper.Page, 0)
		state.Leave()
		fmt.Println(v.Action == temper.Serve, v.RetryAfter)
	}
	// Output:
	// true 0s
	// true 0s
	// false 1s
	// true 0s
}
