// Package ownnet gives a test process its own network: a Linux network namespace with
// only a loopback, which the process may enable, disable and give addresses without
// effect on the rest of the machine.
package ownnet
