// Package fleettest is the fault harness of a fleet: worker processes, a real
// PostgreSQL, a lab and a line between them that can be cut or slowed.
//
// Each fault is one test. Whatever is done to the fleet, the lab must have seen one
// polite crawler and the store must hold every page once: the lab's counters and
// the rows decide, never our logs. Short forms run in CI; HEADWAY_FULL=1 runs the
// real sizes.
package fleettest
