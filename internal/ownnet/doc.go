// Package ownnet gives a test's process a network of its own: a Linux network
// namespace with nothing in it but a loopback, which the process may switch on and off
// and give addresses without anybody else on the machine noticing.
package ownnet
