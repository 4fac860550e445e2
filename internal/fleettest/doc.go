// Package fleettest injects faults into a fleet: worker processes, a real PostgreSQL,
// a lab, and a proxy between them that can be cut or slowed.
//
// Each fault is one test. Whatever happens, the lab must have seen one polite crawler
// and the store must hold every page once: the lab's counters and the stored rows
// decide, never our logs. Short forms run in CI; HEADWAY_FULL=1 runs the full sizes.
package fleettest
