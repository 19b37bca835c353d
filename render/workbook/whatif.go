package workbook

import (
	"slices"

	"nsysmem/align"
	"nsysmem/render/tables"
)

// whatIf adds the sheets that compare settings of the allocator, behind all others; none where nothing was compared.
func (b *book) whatIf(list []*align.WhatIf) error {
	if len(list) == 0 {
		return nil
	}
	settings := table{sheet: "What if", name: "What_if", tab: tabMemory, fixed: 4, none: "none"}
	if err := b.table(settings.of(tables.SettingGrid(list))); err != nil {
		return err
	}
	steps := table{sheet: "What if by iteration", name: "What_if_by_iteration", tab: tabMemory, fixed: 4, none: "none found"}
	g := tables.SettingStepGrid(list)
	// One scale over all settings, whose sizes are to be compared.
	first := slices.IndexFunc(g.Heads, func(h tables.Head) bool { return h.Unit == tables.Bytes })
	steps.scales = []scale{{first: first, last: len(g.Heads) - 1}}
	return b.table(steps.of(g))
}
