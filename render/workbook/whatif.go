package workbook

import (
	"nsysmem/align/whatif"
	"nsysmem/render/tables"
)

// whatIf adds the sheets that compare settings of the allocator, behind all others; none where nothing was compared.
func (b *book) whatIf(list []*whatif.Comparison) error {
	if len(list) == 0 {
		return nil
	}
	settings := table{sheet: "What if", name: "What_if", tab: tabMemory, fixed: 4, none: "none"}
	if err := b.table(settings.of(tables.SettingGrid(list))); err != nil {
		return err
	}
	steps := table{sheet: "What if by iteration", name: "What_if_by_iteration", tab: tabMemory, fixed: 4, none: "none found"}
	return b.table(steps.of(tables.SettingStepGrid(list)))
}
