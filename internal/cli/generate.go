package cli

//go:generate go run headway/internal/refgen ../../docs
