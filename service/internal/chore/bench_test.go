package chore

import (
	"net/http"
	"testing"

	"headway/service/internal/webhook"
)

// BenchmarkDeliveries sends events to one endpoint that answers at once.
func BenchmarkDeliveries(b *testing.B) {
	x := newBench(b)
	v := newReceiver(b, func(http.ResponseWriter, *http.Request, string) {})
	v.endpoint(x, "acme")
	x.happen("acme", b.N)
	b.ResetTimer()
	x.work(webhook.Config{Guard: loopback(v.port()), Retries: soon})
	x.until("all have arrived", func() bool { return v.has() == b.N })
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
}
