package memory_test

import (
	"sync"
	"testing"

	"headway/store"
	"headway/store/memory"
	"headway/store/storetest"
)

func TestConformance(t *testing.T) {
	var places sync.Map // stands for the disk of other engines
	storetest.Run(t, func(_ testing.TB, place string, fault store.Fault) store.Store {
		s, _ := places.LoadOrStore(place, memory.Open(memory.Config{Fault: fault}))
		return s.(*memory.Store)
	})
}
