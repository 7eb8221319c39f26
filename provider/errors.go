package provider

import (
	"errors"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// ErrNoPlatform, ErrNoFile and ErrExcluded also match [failure.ErrNotFound], so test for them first.
var (
	// The version has no package for the platform.
	ErrNoPlatform = fault.Narrow("no package for this platform", failure.ErrNotFound)

	// An archive, SHA256SUMS document or signature that is named is missing.
	ErrNoFile = fault.Narrow("no such file", failure.ErrNotFound)

	// The patterns of a [NamedSource] exclude the provider.
	ErrExcluded = fault.Narrow("excluded by the patterns of the source", failure.ErrNotFound)

	// No plugin protocol of the package is supported.
	ErrProtocol = errors.New("no supported plugin protocol")

	// The source has the package unpacked, without an archive.
	ErrUnpacked = errors.New("package is unpacked and has no archive")
)
