include $(sort $(wildcard $(BR2_EXTERNAL_HEAPSONDE_PATH)/package/*/*.mk))
