// Package storetest is the suite every engine of package store passes.
//
// It promises an engine's author that an engine which passes keeps what the
// contract says: ownership and fences, one row and one outcome per URL, exact
// counts and page tokens, commits that happen wholly, once and durably, whatever
// statement they are stopped at, and the same answers as the model in
// store/memory to any order of questions. Nothing in it sleeps; the time is given
// to the store.
package storetest

import (
	"testing"

	"headway/store"
)

// Open opens the store kept at a place: a directory of the test for engines
// that keep files, a name for others. Opening the same place again, after Close,
// must show what was acknowledged.
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
		{"Errands", testErrands},
		{"Budget", testBudget},
		{"Taken", testTaken},
		{"Reopen", testReopen},
		{"Hosts", testHosts},
		{"Crowds", testCrowds},
		{"Stretches", testStretches},
		{"Jobs", testJobs},
		{"JobLists", testJobLists},
		{"Queue", testQueue},
		{"Tenants", testTenants},
		{"Mail", testMail},
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
