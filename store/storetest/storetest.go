// Package storetest is the test suite that every engine of package store passes.
//
// An engine that passes fulfils the contract: ownership and fences, one row and one outcome
// per URL, exact counts and page tokens, commits that are atomic, applied once and durable,
// whatever statement they are stopped at, and the same results as the model in store/memory
// for any sequence of calls. No test sleeps; the time is an argument.
package storetest

import (
	"errors"
	"flag"
	"strconv"
	"sync"
	"testing"

	"headway/internal/race"
	"headway/store"
)

// Open opens the store at a place: a directory for engines that use files, a name for
// others. Opening the same place again, after Close, must show what was acknowledged. It is
// called at the same time for different places.
type Open func(t testing.TB, place string, fault store.Fault) store.Store

// Run runs the whole suite as subtests of t.
func Run(t *testing.T, open Open) {
	t.Helper()
	if err := fewerCases(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"Slots", testSlots},
		{"URLs", testURLs},
		{"Aside", testAside},
		{"Commit", testCommit},
		{"Content", testContent},
		{"Links", testLinks},
		{"Errands", testErrands},
		{"Budget", testBudget},
		{"Taken", testTaken},
		{"Requests", testRequests},
		{"Reopen", testReopen},
		{"Hosts", testHosts},
		{"AddressLoads", testAddressLoads},
		{"RateWindows", testRateWindows},
		{"Jobs", testJobs},
		{"JobLists", testJobLists},
		{"Turns", testTurns},
		{"Stops", testStops},
		{"Queue", testQueue},
		{"Settings", testSettings},
		{"Tenants", testTenants},
		{"Mail", testMail},
		{"Suspects", testSuspects},
		{"HostTime", testHostTime},
		{"Segments", testSegments},
		{"OptOuts", testOptOuts},
		{"OwnedHosts", testOwnedHosts},
		{"Cancel", testCancel},
		{"Series", testSeries},
		{"Crash", testCrash},
		{"Concurrent", testConcurrent},
		{"Model", testModel},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel() // each opens stores of its own
			part.test(t, open)
		})
	}
}

// fewerCases lets rapid draw a fifth of its cases under the race detector, as with -short.
var fewerCases = sync.OnceValue(func() error {
	if !race.Enabled || testing.Short() {
		return nil
	}
	checks := flag.Lookup("rapid.checks").Value
	n, err := strconv.Atoi(checks.String())
	return errors.Join(err, checks.Set(strconv.Itoa(max(n/5, 1))))
})
