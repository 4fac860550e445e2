// Package e2e runs the headway command against a lab on the loopback and judges it
// only by the lab's counters: which requests, how far apart, how many at once, which
// twice. It contains only tests. Long tests have a short form; with HEADWAY_FULL=1
// they run at full size.
package e2e
