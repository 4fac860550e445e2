package scope

import "math/bits"

// glob is a compiled glob: a small automaton whose states are bits. State i means that the
// first i tokens of the pattern have matched; each byte of the text moves all states at
// once. So the text is read once for every 64 tokens, without backtracking.
type glob struct {
	words int // of 64 states
	last  int // the state in which all tokens are matched
	// accepts has, for each byte of text, the bits of the tokens that match it.
	accepts []uint64
	// Stars are not tokens but states that loop.
	anyLoop, nameLoop []uint64 // for a slash: at "**"; for all else: at any star
}

const maxWords = MaxPattern/64 + 1

// compileGlob compiles a pattern of at most [MaxPattern] bytes. ok is false for a trailing
// backslash.
func compileGlob(pattern string) (*glob, bool) {
	tokens := 0
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' {
			if i++; i == len(pattern) {
				return nil, false
			}
		} else if pattern[i] == '*' {
			continue
		}
		tokens++
	}
	words := tokens/64 + 1
	g := &glob{
		words: words, last: tokens, accepts: make([]uint64, 256*words),
		anyLoop: make([]uint64, words), nameLoop: make([]uint64, words),
	}
	state := 0
	for i := 0; i < len(pattern); i++ {
		word, bit := state/64, uint64(1)<<(state%64)
		switch c := pattern[i]; c {
		case '*':
			if i+1 < len(pattern) && pattern[i+1] == '*' {
				i++
				g.anyLoop[word] |= bit
			}
			g.nameLoop[word] |= bit
			continue
		case '?':
			for b := range 256 {
				if b != '/' {
					g.accepts[b*words+word] |= bit
				}
			}
		default:
			if c == '\\' {
				i++
				c = pattern[i]
			}
			g.accepts[int(c)*words+word] |= bit
		}
		state++
	}
	return g, true
}

// match reports whether the glob matches all of text.
func (g *glob) match(text string) bool {
	if g.words == 1 {
		return g.match64(text)
	}
	var store [maxWords]uint64
	states := store[:g.words]
	states[0] = 1
	for i := range len(text) {
		accepts := g.accepts[int(text[i])*g.words:]
		loops := g.nameLoop
		if text[i] == '/' {
			loops = g.anyLoop
		}
		var carry, alive uint64
		for w, s := range states {
			moved, out := bits.Add64(s&accepts[w], s&accepts[w], carry) // one to the left
			carry = out
			states[w] = moved | s&loops[w]
			alive |= states[w]
		}
		if alive == 0 {
			return false
		}
	}
	return states[g.last/64]>>(g.last%64)&1 == 1
}

// match64 is match for patterns of up to 63 tokens, the usual case.
func (g *glob) match64(text string) bool {
	states := uint64(1)
	anyLoop, nameLoop, accepts := g.anyLoop[0], g.nameLoop[0], g.accepts[:256]
	for i := range len(text) {
		loops := nameLoop
		if text[i] == '/' {
			loops = anyLoop
		}
		states = states&accepts[text[i]]<<1 | states&loops
		if states == 0 {
			return false
		}
	}
	return states>>g.last&1 == 1
}
