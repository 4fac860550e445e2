// Package htmltoken splits HTML into tags and text for the packages parse and content.
//
// The tokenizer works in place: it builds no tree, copies nothing, and returns offsets
// into its input. It knows the elements and attributes that those packages use; others
// are read correctly and have no name. Character references are decoded on demand.
package htmltoken
