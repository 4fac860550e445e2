// Package e2e runs the headway command against a lab on the loopback and judges
// it by the lab's counters alone: what was asked, how far apart, how many at
// once, what twice. It holds only tests. Those that take long have a short form;
// with HEADWAY_FULL=1 they run at their real size.
package e2e
