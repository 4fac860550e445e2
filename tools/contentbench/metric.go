package main

import (
	"strings"
	"unicode"
)

// shingleLength is how many words a shingle has.
const shingleLength = 4

// score is how the shingles of an extracted text compare with those of the true one, as
// in evaluate.py of the benchmark: shares of all shingles that sum to 1.
type score struct{ both, extra, missing float64 }

// compare returns the score of a text.
func compare(want, got string) (s score) {
	truth, found := shingles(want), shingles(got)
	for key, n := range truth {
		s.both += float64(min(n, found[key]))
		s.missing += float64(max(0, n-found[key]))
	}
	for key, n := range found {
		s.extra += float64(max(0, n-truth[key]))
	}
	if sum := s.both + s.extra + s.missing; sum > 0 {
		s.both /= sum
		s.extra /= sum
		s.missing /= sum
	}
	return s
}

// shingles counts the runs of words in a text.
func shingles(text string) map[string]int {
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	all := map[string]int{}
	if len(words) == 0 {
		return all
	}
	for i := range max(1, len(words)-shingleLength+1) {
		all[strings.Join(words[i:min(i+shingleLength, len(words))], " ")]++
	}
	return all
}

// precision returns the share of what was found that is right.
func (s score) precision() float64 {
	switch {
	case s.extra == 0 && s.missing == 0:
		return 1
	case s.both == 0 && s.extra == 0:
		return 0
	}
	return s.both / (s.both + s.extra)
}

// recall returns the share of what is right that was found.
func (s score) recall() float64 {
	switch {
	case s.extra == 0 && s.missing == 0:
		return 1
	case s.both == 0 && s.missing == 0:
		return 0
	}
	return s.both / (s.both + s.missing)
}

// summary is the mean over pages.
type summary struct{ precision, recall, f1 float64 }

// summarise returns the mean of the scores as the benchmark takes it: F1 of the mean
// precision and the mean recall.
func summarise(scores []score) (m summary) {
	var precise, recalled int
	for _, s := range scores {
		if s.both+s.extra > 0 {
			m.precision += s.precision()
			precise++
		}
		if s.both+s.missing > 0 {
			m.recall += s.recall()
			recalled++
		}
	}
	m.precision /= float64(max(1, precise))
	m.recall /= float64(max(1, recalled))
	m.f1 = 2 * m.precision * m.recall / (m.precision + m.recall)
	return m
}
