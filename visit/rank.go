package visit

// rankPriority is the highest priority that Rank distinguishes; its negative is the lowest.
const rankPriority = 127

// Rank is the position of an item in its host's queue, smallest first: the home page, then by depth, then by
// priority. Items of the same rank are ordered by age.
func (it *Item) Rank() int {
	rank := min(it.Depth, 0xffff)<<8 + rankPriority - min(max(it.Priority, -rankPriority), rankPriority)
	if it.URL.PathQuery() != "/" {
		rank += 1 << 24
	}
	return rank
}
