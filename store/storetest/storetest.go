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
	"testing"

	"pgregory.net/rapid"

	"headway/internal/race"
	"headway/store"
)

// Open opens the store at a place: a directory for engines that use files, a name for
// others. Opening the same place again, after Close, must show what was acknowledged.
type Open func(t testing.TB, place string, fault store.Fault) store.Store

// Run runs the whole suite as subtests of t.
func Run(t *testing.T, open Open) {
	t.Helper()
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
		{"OptOuts", testOptOuts},
		{"OwnedHosts", testOwnedHosts},
		{"Cancel", testCancel},
		{"Series", testSeries},
		{"Crash", testCrash},
		{"Concurrent", testConcurrent},
		{"Model", testModel},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, open) })
	}
}

// checkRandom lets rapid draw cases: a fifth of them under the race detector, as with -short.
func checkRandom(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	if race.Enabled && !testing.Short() {
		checks := flag.Lookup("rapid.checks")
		all := checks.Value.String()
		n, err := strconv.Atoi(all)
		if err = errors.Join(err, checks.Value.Set(strconv.Itoa(max(n/5, 1)))); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := checks.Value.Set(all); err != nil {
				t.Error(err)
			}
		}()
	}
	rapid.Check(t, property)
}
