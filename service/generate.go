package service

//go:generate go run headway/service/internal/openapi ../docs/reference/openapi.json
