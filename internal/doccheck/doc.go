// Package doccheck holds pages of docs/ against the code: what they name must
// exist, and what they show must be so.
//
// It is made of tests alone. Pages that are generated need none here:
// scripts/verify compares them with their source.
package doccheck
