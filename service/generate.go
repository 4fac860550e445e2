package service

//go:generate go run headway/service/internal/openapi ../docs/reference/openapi.json ../docs/reference/problems.md
//go:generate go run headway/client/internal/generate ../docs/reference/openapi.json ../client
