// Package doccheck compares pages of docs/ with the code: the names they use must
// exist, and the examples they show must be true. It also checks the words of all
// files against a list of phrases to avoid.
//
// It consists of tests only. Generated pages are checked by scripts/verify.
package doccheck
