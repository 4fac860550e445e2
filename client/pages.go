package client

import "iter"

// pages iterates over a list that is read in pages. Each page says where the next one
// begins; one that says nothing new is the last.
func pages[T any, P comparable](first P, read func(P) ([]T, P, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none P
		for place := first; ; {
			list, next, err := read(place)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for i := range list {
				if !yield(list[i], nil) {
					return
				}
			}
			if next == none || next == place {
				return
			}
			place = next
		}
	}
}
