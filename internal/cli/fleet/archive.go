package fleet

import (
	"cmp"
	"context"

	"headway/internal/archive"
	"headway/internal/cli/command"
	"headway/internal/config"
	"headway/output/s3"
)

// openArchive opens the archive in the settings; nil if there is none.
func openArchive(ctx context.Context, s *config.Settings, cfg archive.Config) (_ *archive.Archive, err error) {
	if cfg.To = s.Fleet.Archive; cfg.To == "" {
		return nil, nil
	}
	if cfg.Guard.AllowPrivate, err = command.ParseRanges("--archive-private", s.Fleet.ArchivePrivate); err != nil {
		return nil, err
	}
	if s3.IsPlace(cfg.To) {
		if _, err := s3.ParsePlace(cfg.To); err != nil {
			return nil, command.Usage(err, "--archive takes a folder or s3://BUCKET/PREFIX")
		}
	}
	a, err := archive.Open(ctx, cfg)
	if err != nil {
		return nil, command.Failed(err, cmp.Or(command.HintOf(err), "check --archive, and the AWS_ variables for S3"))
	}
	return a, nil
}
