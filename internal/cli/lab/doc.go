// Package lab has the commands of the lab, a synthetic web on this machine.
package lab
