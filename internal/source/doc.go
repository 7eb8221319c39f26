// Package source contains what the clients of registries and mirrors share: errors, downloads,
// stated hashes, and versions whose listed text is not canonical.
package source
