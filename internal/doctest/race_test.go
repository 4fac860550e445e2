//go:build race

package doctest

const raced = true
