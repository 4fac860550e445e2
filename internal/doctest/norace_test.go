//go:build !race

package doctest

const raced = false
